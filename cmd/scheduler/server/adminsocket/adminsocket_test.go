package adminsocket

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api/descriptors"
)

// serveOn serves requests on the admin socket of a folder until the test ends.
func serveOn(t *testing.T, dir string, log *slog.Logger, answer http.HandlerFunc) {
	t.Helper()
	l, err := Listen(dir, testReserve(t), log)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: answer, ConnContext: func(ctx context.Context, c net.Conn) context.Context {
		if descriptors.Context(ctx, c) == ctx {
			t.Error("the connection holds no descriptor of the reserve")
		}
		return context.WithValue(ctx, peerKey{}, c.(interface{ PeerName() string }).PeerName())
	}}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
}

type peerKey struct{}

func testReserve(t *testing.T) *descriptors.Reserve {
	t.Helper()
	reserve, err := descriptors.New(1, 16, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reserve.Close() })
	return reserve
}

// TestAdminSocketsFile: the mode of the socket; a stale socket is replaced, and another file in its place is an
// error.
func TestAdminSocketsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := Path(dir)
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	if err := stale.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Listen(dir, testReserve(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is left after Close")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(dir, testReserve(t), slog.New(slog.DiscardHandler)); err == nil ||
		!strings.Contains(err.Error(), "move it away") {
		t.Errorf("with a file in its place: %v", err)
	}
	var said bytes.Buffer
	long := filepath.Join(dir, strings.Repeat("x", 100))
	if l, err := Listen(long, testReserve(t), slog.New(slog.NewTextHandler(&said, nil))); l != nil ||
		err != nil || !strings.Contains(said.String(), "path too long") {
		t.Errorf("%v, %v, %s", l, err, said.String())
	}
}

// TestAsRootAdminSocketRefusesOtherUsers: other users are refused even if the file's mode lets them connect.
func TestAsRootAdminSocketRefusesOtherUsers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can act as another user")
	}
	dir, err := os.MkdirTemp("/tmp", "socket-*") // other users cannot pass through the parent of t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	serveOn(t, dir, slog.New(slog.DiscardHandler),
		func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "let in") })
	for path, mode := range map[string]fs.FileMode{dir: 0o777, Path(dir): 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	for uid, want := range map[uint32]bool{0: true, 65534: false} {
		cmd := exec.CommandContext(t.Context(), "curl", "--silent", "--max-time", "20", "--unix-socket",
			Path(dir), "http://localhost/api/users")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		if out, err := cmd.CombinedOutput(); (string(out) == "let in") != want || (err == nil) != want {
			t.Errorf("user %d: %q, %v", uid, out, err)
		}
	}
}
