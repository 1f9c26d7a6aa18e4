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

// A process learns its share of memory and CPUs. If it used far more memory, its status says so, even if it succeeded.
func TestMemoryShare(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	task := taskOf("t", script(t, `echo "$ELASTICJOB_CPUS $ELASTICJOB_MEMORY_MB"; exec python3 -c 'x = b"x" * 200_000_000'`))
	task.CPUs, task.MemoryMB = 0.5, 64
	a.launch(task)
	_, status := a.await("t", mesos.TASK_FINISHED)
	if got := a.read(status.Dir + "/stdout"); got != "0.5 64\n" {
		t.Errorf("its share is %q", got)
	}
	if !strings.HasPrefix(status.Cause, "it used up to ") ||
		!strings.Contains(status.Cause, " MB of memory, and its job has memoryMB 64, which is not enforced here") {
		t.Errorf("unexpected cause %q", status.Cause)
	}
}

// The last update of a killed task contains what its process wrote or answered at its end, and its last progress.
func TestLastWordsOfKilledTasks(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	const waits = `while :; do sleep 0.01; done`
	for id, test := range map[string]struct {
		program, cause string
		timeout        int64
		forced         bool
	}{
		"silent":            {script(t, `exec sleep 1000`), "killed", 0, false},
		"silent, timed out": {script(t, `exec sleep 1000`), "killed; it wrote nothing", 1, false},
		"stderr":            {script(t, `echo row 7 >&2; exec sleep 1000`), "killed; end of stderr:\nrow 7", 0, false},
		"answer": {residentScript(t, `trap 'say "{\"type\":\"done\",\"run\":\"1\",\"error\":\"no rows\"}"; exit 0' TERM; say 7; `+waits),
			"killed; its answer: no rows; ignored on its pipe: the line 7 is no message, which is a JSON object on one line", 0, false},
		"deaf": {script(t, `trap '' TERM; echo row 8 >&2; `+waits), "killed; end of stderr:\nrow 8", 0, true},
	} {
		task := taskOf(id, test.program)
		task.KillGraceMillis, task.TimeoutMillis = 500, test.timeout
		a.launch(task)
		_, status := a.await(id, mesos.TASK_RUNNING)
		switch id {
		case "stderr", "deaf":
			a.read(status.Dir + "/stderr")
		case "answer":
			a.until("progress", func() bool { return len(a.reports) > 0 })
		}
		a.kill(id)
		if _, status = a.await(id, mesos.TASK_KILLED); status.Cause != test.cause || status.Forced != test.forced {
			t.Errorf("%s: %q, forced %v", id, status.Cause, status.Forced)
		}
		if id == "answer" && (status.Progress == nil || !status.Progress.Notice) {
			t.Errorf("its progress is %+v", status.Progress)
		}
	}
}

// The last update of a task contains its last progress, because the task may end before a report of the progress is
// sent.
func TestLastProgress(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.launch(taskOf("t", script(t,
		`for i in 1 2 3 4; do echo '{"type":"progress","fraction":'0.$i',"message":"row '$i'"}' >&4; done`)))
	_, status := a.await("t", mesos.TASK_FINISHED)
	if p := status.Progress; p == nil || p.Fraction != 0.4 || p.Message != "row 4" || p.Notice {
		t.Errorf("unexpected progress %+v", p)
	}
}

// A process that reads its pipe but sends no hello is reported, unlike a process that does not use its pipe.
func TestMissingHelloIsReported(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	reads := script(t, `read -r line <&3; exec sleep 1000`)
	a.launch(taskOf("transient", reads))
	a.launch(daemonOf("daemon", reads))
	a.launch(taskOf("no pipe", script(t, `exec sleep 1000`)))
	for _, id := range []string{"transient", "daemon"} {
		a.until("the remark on "+id, func() bool {
			for _, r := range a.reports {
				for _, task := range r.Tasks {
					if task.TaskID == id && task.Progress != nil && task.Progress.Notice &&
						strings.Contains(task.Progress.Message, "has sent no hello") {
						return true
					}
				}
			}
			return false
		})
	}
	for id, want := range map[string]bool{"transient": true, "no pipe": false} {
		a.kill(id)
		if _, status := a.await(id, mesos.TASK_KILLED); strings.Contains(status.Cause, "has sent no hello") != want {
			t.Errorf("%s: unexpected cause %q", id, status.Cause)
		}
	}
}

// A mistake of a process in the protocol is reported as progress while the process runs, and in the cause of its end.
func TestProtocolMistakesAreReported(t *testing.T) {
	t.Parallel()
	const end = `; while read -r line <&3; do :; done; exec sleep 1000`
	a := newAgent(t)
	for id, test := range map[string]struct{ program, want string }{
		"no run":      {residentScript(t, `say '{"type":"done"}'`+end), `a done without its run, which is "1"`},
		"other run":   {residentScript(t, `say '{"type":"done","run":"7"}'`+end), `a done of run "7"; the present one is "1"`},
		"number":      {residentScript(t, `say '{"type":"done","run":1}'`+end), `the field run of the message {"type":"done","run":1} is of the wrong type: number`},
		"object":      {residentScript(t, `say '{"type":"done","run":"1","error":{}}'`+end), `the field error of the message`},
		"no newline":  {residentScript(t, `printf '{"type":"done","run":"1"}' >&4`+end), `a line without a line feed at its end`},
		"indented":    {residentScript(t, `say '{'; say '"type":"done"'; say '}'`+end), `the line { is no message, which is a JSON object on one line, and 2 more`},
		"no hello":    {script(t, `echo '{"type":"done","run":"1"}' >&4; exec sleep 1000`), `a done before a hello`},
		"into stdout": {residentScript(t, `echo "{\"type\": \"done\", \"run\": \"$run\"}"`+end), "it wrote messages of the protocol to stdout"},
	} {
		task := taskOf(id, test.program)
		task.KillGraceMillis = 100
		a.launch(task)
		a.await(id, mesos.TASK_RUNNING)
		if id == "into stdout" {
			_, status := a.await(id, mesos.TASK_RUNNING)
			a.read(status.Dir + "/stdout")
		} else {
			shown, _, _ := strings.Cut("ignored on its pipe: "+test.want, ", and ")
			a.until("progress "+shown, func() bool {
				for _, r := range a.reports {
					for _, task := range r.Tasks {
						if task.TaskID == id && task.Progress != nil && strings.Contains(task.Progress.Message, shown) {
							return true
						}
					}
				}
				return false
			})
		}
		a.kill(id)
		if _, status := a.await(id, mesos.TASK_KILLED); !strings.Contains(status.Cause, test.want) {
			t.Errorf("%s: cause %q, want %q", id, status.Cause, test.want)
		}
	}
}
