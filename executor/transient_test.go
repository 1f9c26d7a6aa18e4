package executor_test

import (
	"strings"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// A transient task's process that sends a hello gets one run, and then the end of its stream.
func TestTransientWithHello(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	newer := script(t, `echo '{"type":"hello","version":2,"sdk":"next"}' >&4; exec sleep 1000`)
	for id, test := range map[string]struct {
		program string
		state   mesos.TaskState
		cause   string
	}{
		"succeeds":               {residentScript(t, `echo "$line"`), mesos.TASK_FINISHED, ""},
		"says what went wrong":   {residentScript(t, `error='boom\nat line 7'; echo noise >&2`), mesos.TASK_FAILED, "boom\nat line 7"},
		"ends without answer":    {residentScript(t, `exit 0`), mesos.TASK_FAILED, "the process ended without an answer to its run: exit status 0; it wrote nothing"},
		"crashes":                {residentScript(t, `echo oops >&2; exit 4`), mesos.TASK_FAILED, "the process ended without an answer to its run: exit status 4; end of stderr:\noops"},
		"fails after its run":    {residentScript(t, `trap 'exit 6' EXIT`), mesos.TASK_FAILED, "exit status 6; it wrote nothing"},
		"error without a text":   {residentScript(t, `error='\u0007'`), mesos.TASK_FAILED, "the run failed, and its error has no text"},
		"answers another run":    {residentScript(t, `run=7`), mesos.TASK_KILLED, ""},
		"a newer version":        {newer, mesos.TASK_FAILED, `the process ("next") speaks version 2 of the protocol between executor and process, this executor knows 1 to 1: update the scheduler`},
		"goes on after its run":  {residentScript(t, `trap '' TERM; say "{\"type\":\"done\",\"run\":\"$run\"}"; while :; do sleep 1; done`), mesos.TASK_FINISHED, ""},
		"hello, closes, goes on": {script(t, `echo '{"type":"hello","version":1}' >&4; exec 4>&-; exec sleep 1000`), mesos.TASK_FAILED, "the process sent a hello, but has closed its pipe"},
		"done without a hello":   {script(t, `echo '{"type":"done","run":"1","error":"x"}' >&4`), mesos.TASK_FINISHED, ""},
		"hello, and never reads": {script(t, `exec 3<&-; echo '{"type":"hello","version":1}' >&4; exec sleep 1000`), mesos.TASK_FAILED, "the process sent a hello, but has closed its pipe"},
	} {
		task := taskOf(id, test.program)
		task.KillGraceMillis = 300
		a.launch(task)
		if test.state == mesos.TASK_KILLED {
			a.await(id, mesos.TASK_RUNNING)
			a.kill(id)
		}
		_, status := a.await(id, test.state)
		if test.state == mesos.TASK_FAILED && !strings.HasPrefix(status.Cause, test.cause) {
			t.Errorf("%s: cause %q, want %q", id, status.Cause, test.cause)
		}
		if id == "succeeds" {
			for _, part := range []string{`"run":"1"`, `"fireTime":"2026-01-02T03:04:05.678Z"`, `"executionId":"e-1"`,
				`"context":{"taskId":"succeeds"`} {
				if line := a.read(status.Dir + "/stdout"); !strings.Contains(line, part) {
					t.Errorf("no %s in %s", part, line)
				}
			}
		}
	}
}
