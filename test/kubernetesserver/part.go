package kubernetesserver

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
	"github.com/elasticjob-go/elasticjob/test/internal/network"
)

// Part is one server of a Kubernetes. It can be killed, frozen and restarted with the same address and data. Its
// methods are not safe for concurrent use.
type Part struct {
	name    string
	cluster *Cluster
	network *network.Network // in which it runs; nil for the host's
	command func() []string
	// checkHealth returns an error until the server answers.
	checkHealth func(ctx context.Context) error

	nsenter *child.Process // waits for the server and ends with it; nil after a kill
	pid     int
}

const (
	// maxStarts is how often launch starts a server that ends.
	maxStarts     = 8
	startInterval = time.Second / 2
)

// launch starts the process and waits until it answers. It restarts a process that ends before that: a containerd
// listens before it is initialized, and its kubelet ends if it starts in between.
func (p *Part) launch() (err error) {
	for range maxStarts {
		if p.nsenter, p.pid, err = p.cluster.spaces.start(p.log(), p.network, p.command()...); err == nil {
			err = await("start "+p.name, p.nsenter.Done(), p.checkHealth)
		}
		if err == nil || p.Runs() {
			return err
		}
		<-time.After(startInterval)
	}
	return err
}

func (p *Part) log() string { return filepath.Join(p.cluster.dir, p.name+".log") }

// LastWords returns the end of the server's log.
func (p *Part) LastWords() string {
	words := child.LastWords(p.log())
	return words[max(0, len(words)-1000):]
}

func (p *Part) String() string { return p.name }

// PID returns the process id of the running server.
func (p *Part) PID() int { return p.pid }

// Runs reports whether the server has neither been killed nor ended by itself.
func (p *Part) Runs() bool {
	if p.nsenter == nil {
		return false
	}
	select {
	case <-p.nsenter.Done():
		return false
	default:
		return true
	}
}

// Kill kills the server with SIGKILL and waits until it has ended. It does nothing if the server has ended already.
// Pods survive the kubelet and containerd.
func (p *Part) Kill() {
	if p.Runs() {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
		p.awaitEnd()
	}
	p.nsenter = nil
}

// awaitEnd waits until nsenter has ended, as it does after the server. nsenter stops itself when it learns that the
// server was stopped, which may be late. So awaitEnd continues nsenter repeatedly.
func (p *Part) awaitEnd() {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		_ = syscall.Kill(p.nsenter.PID(), syscall.SIGCONT)
		select {
		case <-p.nsenter.Done():
			return
		case <-ticker.C:
		}
	}
}

// Restart restarts a server that was killed or has ended, and returns when it answers.
func (p *Part) Restart(t testing.TB) {
	t.Helper()
	if p.Runs() {
		t.Fatalf("kubernetesserver: %s is running", p)
	}
	if err := p.launch(); err != nil {
		t.Fatalf("kubernetesserver: %v: %s", err, p.LastWords())
	}
}

// Pause stops the server with SIGSTOP and waits until it has stopped. Its connections stay open, but it answers nothing
// until Resume.
func (p *Part) Pause(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGSTOP)
	// nsenter stops itself when the server stops, and continues the server when it is itself continued, as in a shell.
	// A nsenter that is stopped already does neither.
	_ = syscall.Kill(p.nsenter.PID(), syscall.SIGSTOP)
	if err := await("stop "+p.name, p.nsenter.Done(), func(context.Context) error {
		if child.Stopped(p.pid) {
			return nil
		}
		_ = syscall.Kill(p.pid, syscall.SIGSTOP)
		return fmt.Errorf("process %d is still running", p.pid)
	}); err != nil {
		t.Fatalf("kubernetesserver: %v", err)
	}
}

// Resume continues a paused server.
func (p *Part) Resume(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGCONT)
	_ = syscall.Kill(p.nsenter.PID(), syscall.SIGCONT)
}

func (p *Part) signal(t testing.TB, which syscall.Signal) {
	t.Helper()
	if !p.Runs() {
		t.Fatalf("kubernetesserver: %s is not running", p)
	}
	if err := syscall.Kill(p.pid, which); err != nil {
		t.Fatalf("kubernetesserver: %v to %s: %v", which, p, err)
	}
}
