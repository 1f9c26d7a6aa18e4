package local

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Programs that nobody here wrote, unchanged, from mesos-go's examples: test/peers is
// a module of its own, so that what they need does not weigh on ours.
const peers = "../../test/peers"

// peerDeadline bounds one run of such a program.
const peerDeadline = 40 * time.Second

var peersAsked atomic.Bool

// buildPeers builds them once, where TestMain removes them.
var buildPeers = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-C", peers, "-o", dir+string(filepath.Separator), "tool")
	build.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	output, err := build.CombinedOutput()
	if err != nil {
		return dir, fmt.Errorf("build test/peers: %w\n%s", err, output)
	}
	return dir, nil
})

// removePeers removes what buildPeers built, if a test asked for it.
func removePeers() error {
	if !peersAsked.Load() {
		return nil
	}
	dir, _ := buildPeers() // a failure was told by the test
	return os.RemoveAll(dir)
}

func peer(t *testing.T, name string) string {
	t.Helper()
	peersAsked.Store(true)
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
		says   string
	}{
		"that succeeds": {"exit 0", 0, "TASK_FINISHED"},
		// 3 is what msh ends with when its task has failed.
		"that fails": {"exit 7", 3, "Command exited with status 7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := openCluster(t)
			status, output := runPeer(t, "msh", "-master", strings.TrimPrefix(c.MasterURL(), "http://"), "--", "/bin/sh", "-c", tt.script)
			if status != tt.status || !strings.Contains(output, tt.says) {
				t.Errorf("status %d, want %d and %q in:\n%s", status, tt.status, tt.says, output)
			}
		})
	}
}

func TestExampleSchedulerRunsItsTasks(t *testing.T) {
	t.Parallel()
	c := openCluster(t)
	const tasks = 20
	_, output := runPeer(t, "example-scheduler",
		"-url", c.MasterURL()+"/api/v1/scheduler", "-executor", peer(t, "example-executor"), "-exec.image", "",
		"-tasks", strconv.Itoa(tasks), "-cpu", "0.5", "-memory", "64", "-server.address", loopback, "-metrics.port", freePort(t), "-verbose")
	// Its exit status is 1 even then: it ends by cancelling its own context.
	if !strings.Contains(output, "mission accomplished") || strings.Count(output, "is in state TASK_FINISHED") != tasks {
		t.Error(output)
	}
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
