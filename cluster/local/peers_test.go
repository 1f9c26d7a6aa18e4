package local

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Programs that nobody here wrote, unchanged, from mesos-go's examples: test/peers is
// a module of its own, so that what they need does not weigh on ours.
const peers = "../../test/peers"

// peerDeadline bounds one run of such a program.
const peerDeadline = 40 * time.Second

var buildPeers = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-C", peers, "-o", dir+string(filepath.Separator), "tool")
	build.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	if err != nil {
		return "", &peerError{string(output), err}
	}
	return dir, nil
})

type peerError struct {
	output string
	err    error
}

func (e *peerError) Error() string { return "build test/peers: " + e.err.Error() + "\n" + e.output }

func peer(t *testing.T, name string) string {
	t.Helper()
	dir, err := buildPeers()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// openCluster is one for programs that can't send credentials.
func openCluster(t *testing.T) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), Options{DataDir: t.TempDir(), CPUs: 4, MemoryMB: 2048, NoCredentials: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if err := c.EndExecutors(ctx); err != nil {
			t.Error(err)
		}
		end(t, c)
	})
	return c
}

// runPeer runs a program to its end and returns its exit status and what it said.
func runPeer(t *testing.T, name string, args ...string) (status int, output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), peerDeadline)
	defer cancel()
	command := exec.CommandContext(ctx, peer(t, name), args...)
	command.Dir = t.TempDir()
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	err := command.Run()
	if ctx.Err() != nil {
		t.Fatalf("%s did not end within %v:\n%s", name, peerDeadline, said.String())
	}
	if err != nil && command.ProcessState == nil {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), said.String()
}

func TestMeshRunsACommand(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		script string
		status int
	}{
		"that succeeds": {"echo from-the-shell", 0},
		"that fails":    {"exit 7", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := openCluster(t)
			master := strings.TrimPrefix(c.MasterURL(), "http://")
			status, output := runPeer(t, "msh", "-master", master, "-user", "root", "--", "/bin/sh", "-c", tt.script)
			t.Logf("status %d\n%s", status, output)
			if status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
		})
	}
}

func TestExampleSchedulerRunsItsTasks(t *testing.T) {
	t.Parallel()
	c := openCluster(t)
	status, output := runPeer(t, "example-scheduler",
		"-url", c.MasterURL()+"/api/v1/scheduler", "-executor", peer(t, "example-executor"), "-exec.image", "",
		"-tasks", "20", "-cpu", "0.5", "-memory", "64", "-server.address", loopback, "-metrics.port", freePort(t), "-verbose")
	t.Logf("status %d\n%s", status, output)
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", loopback+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(port(l))
}
