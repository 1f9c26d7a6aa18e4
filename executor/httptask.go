package executor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/elasticjob-go/elasticjob/wire"
)

// runRequest is the life of a transient task that is a request: it has neither package nor process. As with a process, it is
// announced before it begins (rule E1), reported as running when it takes longer than a moment, and ended by a kill, at
// once: what the server made of it until then nobody knows.
func (t *task) runRequest(spec wire.Task) {
	defer t.cancel(nil)
	t.mu.Lock()
	t.spec = spec
	t.mu.Unlock()
	output, end, err := t.requestOutput()
	if err != nil {
		t.requestFailed(wire.PhaseStart, err)
		return
	}
	defer end()
	shard, err := shardContext(spec)
	if err == nil {
		err = t.announce(false)
	}
	switch why := context.Cause(t.ctx); {
	case why != nil:
		t.report(killed, why.Error()+" before its request was sent", t.status)
		return
	case err != nil:
		t.requestFailed(wire.PhaseStart, err)
		return
	}
	var code int
	t.status.StartTime = time.Now().UTC()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		code, err = request(t.ctx, *spec.HTTP, shard, output)
	}()
	select {
	case <-answered:
	case <-time.After(shortTask):
		t.report(running, "the request is sent", t.status)
		<-answered
	}
	t.status.CompleteTime = time.Now().UTC()
	switch why := context.Cause(t.ctx); {
	case err == nil:
		t.report(finished, fmt.Sprint("status ", code), t.status)
	case why != nil:
		t.status.Phase, t.status.Cause = wire.PhaseRun, why.Error()+": its request was cut off"
		t.report(killed, t.status.Cause, t.status)
	default:
		t.requestFailed(wire.PhaseRun, err)
	}
}

func (t *task) requestFailed(phase string, err error) {
	t.log.Warn("task failed", "phase", phase, "error", err)
	t.status.Phase, t.status.Cause = phase, readable(err.Error(), causeLength)
	first, _, _ := strings.Cut(t.status.Cause, "\n")
	t.report(failedState, readable(first, messageLength), t.status)
}

// requestOutput makes the file that a request's answer goes to.
func (t *task) requestOutput() (file *os.File, end func(), err error) {
	folder, err := t.session.outputs.folder(t.number)
	if err != nil {
		return nil, nil, err
	}
	forget := t.session.outputs.add(t.number)
	file, err = os.OpenFile(filepath.Join(folder, "stdout"), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		forget()
		return nil, nil, err
	}
	return file, func() {
		if err := file.Close(); err != nil {
			t.log.Warn("output not closed", "error", err)
		}
		forget()
	}, nil
}
