package tasks

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/executor/pipe"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
)

func TestExitText(t *testing.T) {
	t.Parallel()
	const where = ": the machine, or the control group that limits this executor, was out of memory"
	for want, exit := range map[string]supervisor.Exit{
		"exit status 0": {},
		"exit status 3; it left 1 process running, which was killed: sleep":          {Status: 3, Left: 1, LeftNames: []string{"sleep"}},
		"exit status 0; it left 3 processes running, which were killed: node, sh, …": {Left: 3, LeftNames: []string{"node", "sh"}},
		"ended by signal 15 (terminated)":                                            {Status: -1, Signal: 15},
		"ended by signal 9 (killed)":                                                 {Status: -1, Signal: 9, Killed: true},
		"ended by signal 9 (killed), which this executor did not send: the container that all tasks of the app share on this agent may have run out of memory": {Status: -1, Signal: 9},
		"ended by signal 9 (killed) by the kernel's OOM killer" + where:                                                                                        {Status: -1, Signal: 9, OutOfMemory: true},
		"exit status 143": {Status: 143, Killed: true},
		"exit status 143 (128 + SIGTERM, which this executor did not send)": {Status: 143},
		"exit status 137 (128 + SIGKILL, which this executor did not send)": {Status: 137},
		"exit status 139": {Status: 139},
		"exit status 137 (128 + SIGKILL, which this executor did not send); meanwhile the kernel's OOM killer ended a process of this executor" + where: {Status: 137, OutOfMemory: true},
	} {
		if got := (processExit{Exit: exit}).text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestMemoryFarAboveTheShareIsReported(t *testing.T) {
	t.Parallel()
	const notEnforced = ", which is not enforced here: if the container or the machine runs out of memory, the kernel kills its largest process"
	for _, test := range []struct {
		used  int64
		share float64
		want  string
	}{
		{6144, 64, "it used up to 6144 MB of memory, and its job has memoryMB 64" + notEnforced},
		{129, 64, "it used up to 129 MB of memory, and its job has memoryMB 64" + notEnforced},
		{127, 64, ""}, {60, 0.5, ""}, {6144, 0, ""}, {6144, 4096, ""},
	} {
		end := processExit{Exit: supervisor.Exit{MaxMemory: test.used << 20}, memoryMB: test.share}
		if got := end.note(); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

func TestCharsetOf(t *testing.T) {
	t.Parallel()
	for want, env := range map[string]map[string]string{
		"":            {"LANG": "C", "PATH": "/bin"},
		"GBK":         {"LANG": "zh_CN.GBK"},
		"ISO-8859-15": {"LANG": "C.UTF-8", "LC_ALL": "de_DE.ISO-8859-15@euro"},
		"UTF-8":       {"LANG": "zh_CN.GBK", "LC_CTYPE": "C.UTF-8"},
	} {
		if got := charsetOf(env); got != want {
			t.Errorf("%v: %q, want %q", env, got, want)
		}
	}
}

// fakePipe is a pipe whose space the process takes before the given check; 0 for never.
type fakePipe struct {
	closed         bool
	taken, checked int
}

func (p *fakePipe) Probe() error {
	if p.closed {
		return pipe.ErrClosed
	}
	return nil
}

func (p *fakePipe) Taken() bool {
	p.checked++
	return p.taken > 0 && p.checked >= p.taken
}

// A hello is missing only if the process reads its pipe, and after a hello that was on its way had time to come.
func TestHelloWatch(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pipe  fakePipe
		heard int // before which check it is heard; -1 for never
		want  string
	}{
		"a hello in time":      {fakePipe{}, 0, "0s"},
		"a hello a bit later":  {fakePipe{taken: 1}, 2, "2s 1s 0s"},
		"its pipe is closed":   {fakePipe{closed: true}, -1, "0s"},
		"no use of its pipe":   {fakePipe{}, -1, "2s 4s 8s 16s 32s 1m0s 1m0s"},
		"it waits":             {fakePipe{taken: 1}, -1, "2s 1s missing"},
		"it waits after a bit": {fakePipe{taken: 3}, -1, "2s 4s 8s 1s missing"},
	} {
		var w helloWatch
		var got []string
		for i, interval := 0, helloInterval; i < 7; i++ {
			if i == test.heard {
				w.heard.Store(true)
			}
			var missing bool
			if interval, missing = w.check(&test.pipe, interval); missing {
				got = append(got, "missing")
				break
			}
			if got = append(got, interval.String()); interval == 0 {
				break
			}
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
