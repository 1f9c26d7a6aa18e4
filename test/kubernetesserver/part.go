package kubernetesserver

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
)

// Part is one server of a Kubernetes. It may be killed, frozen and started again, at the same address and with what it
// has kept; the methods are not for several goroutines at once.
type Part struct {
	name    string
	cluster *Cluster
	command func() []string
	answers func(ctx context.Context) error

	entered *child.Process // nsenter, which waits for the process and ends with it; nil: killed
	pid     int
}

// launch starts the process and waits until it answers. One that ends before that is started again, as whoever
// supervises it would: a kubelet ends while its containerd is not initialized, which listens before it is.
func (p *Part) launch() (err error) {
	for range starts {
		if p.entered, p.pid, err = p.cluster.spaces.start(p.log(), p.command()...); err == nil {
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

// LastWords is the end of the server's log.
func (p *Part) LastWords() string {
	words := child.LastWords(p.log())
	return words[max(0, len(words)-1000):]
}

func (p *Part) String() string { return p.name }

// PID is the process id of the running server.
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

// Kill ends the server by SIGKILL and waits for its end. A killed server is left as it is; pods live on without the
// kubelet and containerd.
func (p *Part) Kill() {
	if p.Runs() {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
		p.awaitEnd()
	}
	p.entered = nil
}

// awaitEnd waits until nsenter has ended after its child. It stops itself when it hears late that the child was
// stopped once, and goes on when told.
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

// Restart starts a server again that was killed or has ended, and returns when it answers.
func (p *Part) Restart(t testing.TB) {
	t.Helper()
	if p.Runs() {
		t.Fatalf("kubernetesserver: %s is running", p)
	}
	if err := p.launch(); err != nil {
		t.Fatalf("kubernetesserver: %v: %s", err, p.LastWords())
	}
}

// Pause stops the server by SIGSTOP: connections stay open, and nothing is answered once it returns.
func (p *Part) Pause(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGSTOP)
	// nsenter stops when its child does, and has it go on when it goes on itself: it is kept from that.
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

// Resume lets a paused server go on.
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
