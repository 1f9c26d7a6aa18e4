package tasks

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/httpcall"
	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// runRequest runs a task that is one HTTP request, and returns the function that reports its end. Like a process, the
// request is reported as running if it takes longer than shortTask. A kill cuts the request off at once, without a
// grace; the executor can't know how much of the request the server has processed by then.
func (t *task) runRequest(spec wire.Task) (report func(), err error) {
	output, err := t.requestOutput()
	if err != nil {
		return nil, err
	}
	shard, err := launch.ShardContext(spec)
	if err != nil {
		return nil, err
	}
	request, err := t.request(spec)
	if err != nil {
		return nil, err
	}
	if err := t.killReason(); err != nil {
		return nil, err
	}
	var code int
	var failure error
	t.status.StartTime = time.Now().UTC()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		code, failure = httpcall.Do(t.ctx, request, shard, output)
	}()
	select {
	case <-answered:
	case <-time.After(shortTask):
		t.report(agent.Running, "the request is sent", t.status)
		<-answered
	}
	t.status.CompleteTime = time.Now().UTC()
	return func() { t.reportResponse(code, failure) }, nil
}

// reportResponse reports how the request of a transient task ended.
func (t *task) reportResponse(code int, err error) {
	status, killReason := t.status, t.killReason()
	if err == nil {
		t.report(agent.Finished, fmt.Sprint("status ", code), status)
		return
	}
	status.Phase = wire.PhaseRun
	if killReason != nil {
		status.Cause = killReason.Error() + "; its request was cut off"
		t.report(agent.Killed, status.Cause, status)
		return
	}
	status.Cause = t.secrets.redact(output.Readable(err.Error(), output.CauseLength))
	t.log.Warn("task failed", "phase", status.Phase, "error", status.Cause)
	first, _, _ := strings.Cut(status.Cause, "\n")
	t.report(agent.Failed, output.Readable(first, output.MessageLength), status)
}

// requestOutput opens the file for the answers to the task's requests. The task closes the file at its end.
func (t *task) requestOutput() (io.Writer, error) {
	if err := t.beginOutput(); err != nil {
		return nil, err
	}
	file, err := t.host.Outputs.Answers(t.number)
	if err != nil {
		return nil, err
	}
	t.releases = append(t.releases, func() {
		if err := file.Close(); err != nil {
			t.log.Warn("output not closed", "error", err)
		}
	})
	return file, nil
}
