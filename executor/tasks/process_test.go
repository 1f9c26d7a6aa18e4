package tasks

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/executor/supervisor"
)

func TestExitText(t *testing.T) {
	t.Parallel()
	const where = ": the machine, or the control group that limits this executor, was out of memory"
	for want, exit := range map[string]supervisor.Exit{
		"exit status 0": {},
		"exit status 3; 1 process that it left running was ended: sleep":          {Status: 3, Left: 1, LeftNames: []string{"sleep"}},
		"exit status 0; 3 processes that it left running were ended: node, sh, …": {Left: 3, LeftNames: []string{"node", "sh"}},
		"ended by signal 15 (terminated)":                                         {Status: -1, Signal: 15},
		"ended by signal 9 (killed)":                                              {Status: -1, Signal: 9, Killed: true},
		"ended by signal 9 (killed), which this executor didn't send: possibly out of memory, at the limit of the container that all tasks of the app share on this agent": {Status: -1, Signal: 9},
		"ended by signal 9 (killed) by the kernel's OOM killer" + where:                               {Status: -1, Signal: 9, OutOfMemory: true},
		"exit status 137; meanwhile the kernel's OOM killer ended a process of this executor" + where: {Status: 137, OutOfMemory: true},
	} {
		if got := (ending{Exit: exit}).text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestMemoryFarAboveTheShareIsTold(t *testing.T) {
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
		end := ending{Exit: supervisor.Exit{MaxMemory: test.used << 20}, memoryMB: test.share}
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
