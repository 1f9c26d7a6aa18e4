package whole_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestEnvironment: the process of a job gets only the documented environment: nothing of the server's environment,
// and no MESOS_*.
func TestEnvironment(t *testing.T) {
	m := start(t)
	m.App("env", only(`tr '\0' '\n' </proc/self/environ
echo "arguments $#"
echo "cwd $(pwd -P)"
echo "stdin $(readlink /proc/self/fd/0)"
readlink /proc/$$/fd/* >"$TMPDIR/open"
echo "open $(tr '\n' ' ' <"$TMPDIR/open")"
[ -d "$TMPDIR" ] && touch "$TMPDIR/works" && echo "temporary folder works"
echo "umask $(umask)"`), nil)
	m.Job("env", "env", system.Doc{
		"shardingTotalCount": 2, "shardingItemParameters": "0=Peking,1=Shang hai", "jobParameter": `p "q" <&>é`,
		"env": env("MY_OWN", "mine", "LANG", "de_DE.UTF-8"),
	})
	e := m.Run("env", "FINISHED")
	for i, s := range e.Shards {
		parameter := []string{"Peking", "Shang hai"}[i]
		shard := fmt.Sprintf(`{"taskId":"%s","jobName":"env","shardingTotalCount":2,"jobParameter":"p \"q\" <&>é","shardingItem":%d,"shardingParameter":"%s"}`, s.TaskID, i, parameter)
		got := map[string]string{}
		said := map[string]string{}
		for line := range strings.Lines(m.Logs(s.TaskID, "stream=stdout")) {
			line = strings.TrimSuffix(line, "\n")
			if name, value, ok := strings.Cut(line, "="); ok && name == strings.ToUpper(name) {
				got[name] = value
				continue
			}
			name, value, _ := strings.Cut(line, " ")
			said[name] = value
		}
		tmp := got["TMPDIR"]
		want := map[string]string{
			"ELASTICJOB_JOB_NAME": "env", "ELASTICJOB_TASK_ID": s.TaskID, "ELASTICJOB_SHARDING_ITEM": fmt.Sprint(i),
			"ELASTICJOB_SHARDING_PARAMETER": parameter, "ELASTICJOB_SHARDING_TOTAL_COUNT": "2",
			"ELASTICJOB_JOB_PARAMETER":    `p "q" <&>é`,
			"ELASTICJOB_EXECUTION_SOURCE": "TRIGGER",
			"ELASTICJOB_FIRE_TIME":        e.FireTime.Format("2006-01-02T15:04:05.000Z"),
			"ELASTICJOB_EXECUTION_ID":     e.ExecutionID, "ELASTICJOB_ATTEMPT": "1",
			"ELASTICJOB_SHARDING_CONTEXT": shard, "ELASTICJOB_CPUS": "0.01", "ELASTICJOB_MEMORY_MB": "1",
			"ELASTICJOB_PROPS": "{}", "ELASTICJOB_PIPE": "3,4",
			"ELASTICJOB_FENCING_TOKEN": got["ELASTICJOB_FENCING_TOKEN"],
			"PATH":                     got["PATH"], "HOME": got["HOME"], "LANG": "de_DE.UTF-8", "TZ": got["TZ"], "TMPDIR": tmp,
			"USER": got["USER"], "LOGNAME": got["USER"], "SHELL": got["SHELL"],
			"MY_OWN": "mine", "LEDGER": m.LedgerPath, "PYTHONDONTWRITEBYTECODE": "1",
			"ELASTICJOB_WORK_DIR": got["ELASTICJOB_WORK_DIR"], "ELASTICJOB_PACKAGE_DIR": got["ELASTICJOB_PACKAGE_DIR"],
		}
		cache := "elasticjob-cache"
		if uid := os.Getuid(); uid != 0 {
			cache += fmt.Sprint("-", uid)
		}
		if content := filepath.Join(m.Dir, "cluster", "work", cache,
			"content"); filepath.Dir(want["ELASTICJOB_PACKAGE_DIR"]) != content || !strings.HasPrefix(want["ELASTICJOB_WORK_DIR"], m.Dir) {
			t.Errorf("the package is %q, not in %s; the working folder %q", want["ELASTICJOB_PACKAGE_DIR"], content,
				want["ELASTICJOB_WORK_DIR"])
		}
		delete(got, "_") // set by the shell itself
		delete(got, "PWD")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("environment of item %d (-want +got):\n%s", i, diff)
		}
		if !regexp.MustCompile(`^\d{13}$`).MatchString(got["ELASTICJOB_FENCING_TOKEN"]) {
			t.Errorf("the fencing token is %q", got["ELASTICJOB_FENCING_TOKEN"])
		}
		if got["HOME"] == m.Dir || !strings.Contains(got["PATH"], "/bin") {
			t.Errorf("HOME=%s PATH=%s", got["HOME"], got["PATH"])
		}
		if said["arguments"] != "0" {
			t.Errorf("arguments: %q", said["arguments"])
		}
		if !strings.HasPrefix(tmp, m.Dir) || said["temporary"] != "folder works" {
			t.Errorf("TMPDIR %s: %q", tmp, said["temporary"])
		}
		if _, err := os.Stat(filepath.Join(said["cwd"], "bin/start.sh")); err != nil {
			t.Errorf("the working directory isn't the package's root: %v", err)
		}
		if said["stdin"] != "/dev/null" || said["umask"] != "0022" {
			t.Errorf("stdin %q, umask %q", said["stdin"], said["umask"])
		}
		pipes := 0 // those of ELASTICJOB_PIPE
		for file := range strings.FieldsSeq(said["open"]) {
			if strings.HasPrefix(file, "pipe:") && pipes < 2 {
				pipes++
			} else if file != "/dev/null" && !strings.HasPrefix(file, m.Dir) { // its output, and the script itself
				t.Errorf("%s is open in the task: %s", file, said["open"])
			}
		}
	}
}

// TestEndsOfProcesses shows which outcome of a shard results from each end of its process.
func TestEndsOfProcesses(t *testing.T) {
	m := start(t)
	m.App("ends", system.Files{
		"bin/start.sh":  script(`echo out; echo "no input file" >&2; exit 3`),
		"bin/signal.sh": script(`kill -SEGV $$`),
		"bin/last.sh":   script(`i=0; while [ $i -lt 3000 ]; do echo "line $i of a long story" >&2; i=$((i+1)); done; echo "the end of it" >&2; exit 1`),
		"bin/plain":     "echo never\n", // neither an executable nor a script with #!
		"bin/by.py":     "#!/bin/sh\necho \"$1 $2\"\n",
	}, nil)
	script := func(command string) system.Doc {
		return system.Doc{"props": env("script.command.line", command)}
	}
	for _, test := range []struct {
		name, command, state string
		status               int // -1 if it is unknown
		cause                []string
		out                  string
	}{
		{"exit", "bin/start.sh", "FAILED", 3, []string{"3", "no input file"}, "out\n"},
		{"signal", "bin/signal.sh", "FAILED", -1, []string{"11"}, ""},
		{"long", "bin/last.sh", "FAILED", 1, []string{"the end of it", "line 2999"}, ""},
		{"missing", "bin/missing.sh", "FAILED", -1, []string{"bin/missing.sh"}, ""},
		{"plain", "bin/plain", "FAILED", -1, []string{"bin/plain"}, ""},
		{"words", `bin/by.py 'two words' "$"`, "FINISHED", 0, nil, "two words $\n"},
		{"context", `echo -n word`, "FINISHED", 0, nil, `word {"taskId":`},
		{"shell", `sh -c 'echo $ELASTICJOB_SHARDING_ITEM | cat'`, "FINISHED", 0, nil, "0\n"},
	} {
		m.Job(test.name, "ends", script(test.command))
		e := m.Run(test.name, "FINISHED", "FAILED")
		s := e.Shards[0]
		if e.State != test.state || s.State != test.state {
			t.Errorf("%s: %+v, want %s", test.name, e, test.state)
		}
		switch {
		case test.status >= 0 && (s.ExitStatus == nil || *s.ExitStatus != test.status):
			t.Errorf("%s: exit status %v, want %d", test.name, s.ExitStatus, test.status)
		case test.status < 0 && s.ExitStatus != nil && *s.ExitStatus == 0:
			t.Errorf("%s: exit status 0 of a shard that failed", test.name)
		}
		for _, want := range test.cause {
			if !strings.Contains(s.FailureCause, want) {
				t.Errorf("%s: failure cause %q, want it to contain %q", test.name, s.FailureCause, want)
			}
		}
		if test.state == "FAILED" && e.Reason == "" {
			t.Errorf("%s: the execution gives no reason: %+v", test.name, e)
		}
		if test.out != "" {
			if got := m.Logs(s.TaskID, ""); !strings.HasPrefix(got, test.out) {
				t.Errorf("%s wrote %q, want %q", test.name, got, test.out)
			}
		}
	}
	if n := len(m.Executors()); n != 1 {
		t.Errorf("there are %d executors: failing tasks are no reason for a new one", n)
	}
	// A command that needs a shell is rejected at once, with a hint.
	said := m.Refused(422, "invalid", "POST", "/api/job/register", m.JobText("pipe", "ends", script("cat x | wc")))
	if !strings.Contains(fmt.Sprint(said), "sh -c") {
		t.Errorf("a pipe without a shell: %+v, want the hint sh -c", said)
	}
}

// TestRetries: a shard that fails by itself is run again up to maxRetries times (E3) with the fire time and id of its
// execution (F9); the other shards are not.
func TestRetries(t *testing.T) {
	m := start(t)
	m.App("flaky", only(`echo "$ELASTICJOB_SHARDING_ITEM $ELASTICJOB_ATTEMPT $ELASTICJOB_FIRE_TIME $ELASTICJOB_EXECUTION_ID $ELASTICJOB_EXECUTION_SOURCE" >>"$LEDGER"
[ "$ELASTICJOB_SHARDING_ITEM" = 0 ] || [ "$ELASTICJOB_ATTEMPT" -ge "$GOOD" ] || { echo "attempt $ELASTICJOB_ATTEMPT is bad" >&2; exit 1; }`), nil)
	m.Job("heals", "flaky", system.Doc{"shardingTotalCount": 2, "maxRetries": 2, "env": env("GOOD", "3")})
	e := m.Run("heals", "FINISHED")
	if a, b := e.Shards[0].Attempt, e.Shards[1].Attempt; a != 1 || b != 3 {
		t.Errorf("attempts %d and %d, want 1 and 3", a, b)
	}
	text, err := os.ReadFile(m.LedgerPath)
	if err != nil {
		t.Fatal(err)
	}
	same := " " + e.FireTime.Format("2006-01-02T15:04:05.000Z") + " " + e.ExecutionID + " TRIGGER"
	want := []string{"0 1" + same, "1 1" + same, "1 2" + same, "1 3" + same}
	got := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}

	m.Job("sick", "flaky", system.Doc{"shardingTotalCount": 2, "maxRetries": 1, "env": env("GOOD", "9")})
	e = m.Run("sick", "FAILED")
	if s := e.Shards[1]; s.Attempt != 2 || s.State != "FAILED" ||
		!strings.Contains(s.FailureCause, "attempt 2 is bad") || e.Shards[0].State != "FINISHED" {
		t.Errorf("after its retries: %+v", e)
	}
}

// TestWhatATaskLeavesBehind: no process of a task survives the task: not in the background, not in a process group of
// its own, and not in a session of its own (X7).
func TestWhatATaskLeavesBehind(t *testing.T) {
	m := start(t)
	m.App("leaves", only(`up="$TMPDIR/up"; : >"$up"
(trap '' TERM HUP INT; echo >>"$up"; exec sleep 301) &
setsid sh -c 'echo >>"$1"; exec sleep 302' - "$up" &
setsid setsid sh -c 'trap "" TERM; echo >>"$1"; sleep 303' - "$up" >/dev/null 2>&1 &
until [ "$(wc -l <"$up")" = 3 ]; do sleep 0.02; done`), nil)
	m.Job("leaves", "leaves", nil)
	m.Run("leaves", "FINISHED")
	m.Until("no process of the task is left", func() string {
		for _, p := range m.Processes() {
			if strings.HasPrefix(p.Command, "sleep 30") {
				return p.String()
			}
		}
		return ""
	})
}
