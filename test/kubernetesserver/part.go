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
	answers func(ctx context.Context) error

	entered *child.Process // nsenter, which waits for the process and ends with it; nil after a kill
	pid     int
}

// launch starts the process and waits until it answers. Like a supervisor, it restarts a process that ends before
// that: a kubelet ends while its containerd is not initialized, which listens before it is.
func (p *Part) launch() (err error) {
	for range starts {
		if p.entered, p.pid, err = p.cluster.spaces.start(p.log(), p.network, p.command()...); err == nil {
			err = await("start "+p.name, p.entered.Done(), p.answers)
		}
		if err == nil || p.Runs() {
			return err
		}
		<-time.After(betweenStarts)
	}
	return err
}

const (
	starts        = 8
	betweenStarts = time.Second / 2
)

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
	if p.entered == nil {
		return false
	}
	select {
	case <-p.entered.Done():
		return false
	default:
		return true
	}
}

// Kill kills the server with SIGKILL and waits until it has ended. It does nothing to a killed server. Pods survive
// the kubelet and containerd.
func (p *Part) Kill() {
	if p.Runs() {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
		p.awaitEnd()
	}
	p.entered = nil
}

// awaitEnd waits until nsenter has ended after its child. If nsenter learns late that the child was stopped once, it
// stops itself, so awaitEnd continues it repeatedly.
func (p *Part) awaitEnd() {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		_ = syscall.Kill(p.entered.PID(), syscall.SIGCONT)
		select {
		case <-p.entered.Done():
			return
		case <-again.C:
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

// Pause stops the server with SIGSTOP. Once it returns, connections stay open and nothing is answered.
func (p *Part) Pause(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGSTOP)
	// nsenter stops when its child does, and continues the child when it is continued. Stopping it prevents that.
	_ = syscall.Kill(p.entered.PID(), syscall.SIGSTOP)
	if err := await("stop "+p.name, p.entered.Done(), func(context.Context) error {
		if child.Stopped(p.pid) {
			return nil
		}
		_ = syscall.Kill(p.pid, syscall.SIGSTOP)
		return fmt.Errorf("process %d runs", p.pid)
	}); err != nil {
		t.Fatalf("kubernetesserver: %v", err)
	}
}

// Resume continues a paused server.
func (p *Part) Resume(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGCONT)
	_ = syscall.Kill(p.entered.PID(), syscall.SIGCONT)
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
