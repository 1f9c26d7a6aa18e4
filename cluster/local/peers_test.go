package local

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// peers is the folder of third-party programs: mesos-go's examples, unchanged. It is a module of its own, so that their
// dependencies are not dependencies of this module.
const peers = "../../test/peers"

// peerDeadline limits one run of such a program.
const peerDeadline = 40 * time.Second

// peer builds a program, at most once until something changes, and returns its path in the go command's cache.
func peer(t *testing.T, name string) string {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", "-C", peers, "tool", "-n", name)
	// The settings are those of the product's programs, so that shared packages are compiled once.
	build.Env = append(os.Environ(), "GOFLAGS=-trimpath", "CGO_ENABLED=0", "GOWORK=off")
	path, err := build.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("build %s in %s: %v\n%s", name, peers, err, failed.Stderr)
		}
		t.Fatal(err)
	}
	return strings.TrimSpace(string(path))
}

// openCluster starts a cluster for programs that cannot send credentials.
func openCluster(t *testing.T) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), Options{DataDir: t.TempDir(), CPUs: 4, MemoryMB: 2048, NoCredentials: true,
		Logger: slog.New(slog.DiscardHandler)})
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

// runPeer runs a program to its end and returns its exit status and output.
func runPeer(t *testing.T, name string, args ...string) (status int, output string) {
	t.Helper()
	program := peer(t, name)
	ctx, cancel := context.WithTimeout(t.Context(), peerDeadline)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
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

func TestExampleSchedulerRunsItsTasks(t *testing.T) {
	t.Parallel()
	c := openCluster(t)
	const tasks = 20
	_, output := runPeer(t, "example-scheduler",
		"-url", c.MasterURL()+"/api/v1/scheduler", "-executor", peer(t, "example-executor"), "-exec.image", "",
		"-tasks", strconv.Itoa(tasks), "-cpu", "0.5", "-memory", "64", "-server.address", loopback, "-metrics.port",
		freePort(t), "-verbose")
	// The exit status is 1 even on success, because the program ends by cancelling its own context.
	if !strings.Contains(output, "mission accomplished") ||
		strings.Count(output, "is in state TASK_FINISHED") != tasks {
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
