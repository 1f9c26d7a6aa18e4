package whole_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestHostileTasks: tasks that misbehave end with a reason, and affect neither the server nor another job, which runs
// once for each of its fires. No process of the tasks is left. The executor's own tests have more such tasks.
func TestHostileTasks(t *testing.T) {
	m := start(t, "--kill-grace", "300ms")
	tests := []struct{ name, script, state, cause string }{
		{"prints-1-gb", `head -c 1073741824 /dev/zero`, "FINISHED", ""},
		{"prints-100-mb-without-line-end", `head -c 100000000 /dev/zero | tr '\0' x >&2; exit 1`, "FAILED", "exit status 1; end of stderr:\n…xxxxx"},
		{"closes-its-output", `exec >&- 2>&-; exit 3`, "FAILED", "exit status 3; it wrote nothing"},
		{"leaves-children", `for i in 1 2 3; do (trap '' TERM HUP; sleep 1000) & setsid sh -c 'trap "" TERM; sleep 1000' & done`, "FINISHED", ""},
		{"kills-its-group", `sleep 1000 & kill -9 0`, "FAILED", "ended by signal 9"},
		{"writes-to-a-full-disk", `cat /proc/version >/dev/full`, "FAILED", "No space left on device"},
		{"is-deaf", `trap '' TERM INT HUP; setsid sh -c 'trap "" TERM; sleep 1000; sleep 1000' & while :; do sleep 1; done`, "KILLED", ""},
	}
	files := system.Files{}
	for _, test := range tests {
		files["bin/"+test.name] = script(test.script)
	}
	m.App("hostile", files, system.Doc{"bootstrapScript": "bin/is-deaf"})
	m.App("good", writes, nil)
	m.Job("good", "good", system.Doc{"misfire": true, "cron": "* * * * * ?"})
	awaitFires := func(n int) {
		t.Helper()
		m.Until(fmt.Sprintf("the job good has run %d times", n), func() string {
			if starts, _ := m.Ran(); len(starts) < n {
				return "too few of its fires have run"
			}
			return ""
		})
	}
	awaitFires(1)
	var ids []string
	for _, test := range tests {
		m.Job(test.name, "hostile", system.Doc{"props": env("script.command.line", "bin/"+test.name)})
		ids = append(ids, m.Trigger(test.name))
	}
	m.AwaitShards(ids[len(ids)-1], "RUNNING")
	m.OK("POST", "/api/job/is-deaf/disable", "")
	for i, test := range tests {
		e := m.Await(ids[i], test.state)
		if cause := e.Shards[0].FailureCause; !strings.Contains(cause, test.cause) {
			t.Errorf("%s: no %q in %.300q", test.name, test.cause, cause)
		}
	}
	starts, _ := m.Ran()
	awaitFires(len(starts) + 2)
	m.OK("POST", "/api/job/good/disable", "")
	m.Until("only the server, executors and supervisors run", func() string {
		for _, p := range m.Processes() {
			if p.PID != m.ServerPID() && !slices.Contains(m.Executors(), p.PID) &&
				!slices.Contains(m.Supervisors(), p.PID) {
				return p.String()
			}
		}
		return ""
	})
	for _, series := range []string{"elasticjob_fires_dropped_total", "elasticjob_fires_missed_total",
		`elasticjob_tasks_ended_total{result="LOST"}`} {
		if n := m.Metric(series); n != "0" {
			t.Errorf("%s is %s, want 0", series, n)
		}
	}
	m.Stop()
	m.NothingRuns()
}

// TestExecutorLimits: --executor-limit limits packages and the output that is kept, and errors name the limit.
func TestExecutorLimits(t *testing.T) {
	m := start(t, "--executor-limit", "package-bytes=10KiB,output-tasks=3", "--executor-limit=package-files=4")
	m.App("small", only("head -c 100000 /dev/zero; echo kept"), nil) // so large that its folder is not reused
	m.Job("small", "small", nil)
	m.App("large", system.Files{"bin/start.sh": script("#" + strings.Repeat("x", 20_000))}, nil)
	m.App("many", system.Files{"bin/start.sh": script(":"), "1": "", "2": "", "3": "", "4": ""}, nil)
	for app, want := range map[string]string{"large": "more than 10240 bytes",
		"many": "more than 4 files and folders"} {
		m.Job(app, app, nil)
		if s := m.Run(app, "FAILED").Shards[0]; !strings.Contains(s.FailureCause, want) {
			t.Errorf("%s: %q, want %q in it", app, s.FailureCause, want)
		}
	}
	var last string
	for range 8 {
		last = m.Run("small", "FINISHED").Shards[0].TaskID
	}
	if got := m.Logs(last, "offset=100000"); got != "kept\n" {
		t.Errorf("the last task wrote %.100q", got)
	}
	m.Until("the output of 3 tasks is kept", func() string {
		kept, err := filepath.Glob(filepath.Join(m.Dir, "*", "work", "slaves", "*", "frameworks", "*", "executors",
			"small@*", "runs", "*", "tasks", "*"))
		if err != nil {
			m.Fatal(err)
		}
		// The link latest leads to the files of the latest run a second time.
		kept = slices.DeleteFunc(kept, func(path string) bool { return strings.Contains(path, "/runs/latest/") })
		if len(kept) != 3 {
			return "these are:\n" + strings.Join(kept, "\n")
		}
		return ""
	})
}
