package commandline_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestApps(t *testing.T) {
	u := start(t)
	u.has(u.does("app", "list"), "there are no apps")
	url := u.serve("echo hello")
	if got := u.does("app", "publish", "billing", "--url", url, "--script", "bin/start.sh", "--memory", "32",
		"--check"); got != "app billing published\n" {
		t.Errorf("publish says %q", got)
	}
	u.fails(6, []string{"billing"}, "app", "publish", "billing", "--url", url, "--script", "bin/start.sh")
	u.fails(1, []string{"bootstrapScript", "bin/strat.sh is not in the package; did you mean", "nothing was changed"},
		"app", "update", "billing", "--script", "bin/strat.sh", "--check")
	u.does("app", "update", "billing", "--cache=false")
	var app map[string]any
	decode(u, u.does("app", "show", "billing", "-o", "json"), &app)
	if app["appCacheEnable"] != false || app["memoryMB"] != 32.0 || app["cpuCount"] != 0.1 {
		t.Errorf("%v: want the given field changed, and no other", app)
	}
	if got := u.runs("appName: second\nappURL: "+url+"\nbootstrapScript: bin/start.sh\ncpuCount: 0.1\n", "app",
		"publish", "-f", "-"); got.status != 0 {
		t.Errorf("publish of a document: %+v", got)
	}
	u.has(u.does("app", "list"), "NAME", "billing", "second", "bin/start.sh", "32 MB")
	u.does("app", "disable", "billing", "second")
	u.has(u.does("app", "show", "billing"), "appURL", url, "disabled                 true")
	u.does("app", "enable", "billing")
	u.does("job", "register", "nightly", "--app", "billing")
	u.fails(6, []string{"nightly", "--jobs"}, "app", "delete", "billing")
	u.does("app", "delete", "billing", "second", "--jobs")
	u.fails(4, []string{"billing", `"elasticjob app list"`}, "app", "show", "billing")
}

func TestJobs(t *testing.T) {
	u := start(t)
	u.has(u.does("job", "list"), "no job matches")
	u.publishes("echo hello", "--env", "LEVEL=info", "--env", "DB_PASSWORD=very secret", "--description",
		"every night")
	file := u.file("weekly.json", `{"jobName":"weekly","appName":"billing","jobExecutionType":"TRANSIENT","cron":"0 0 3 ? * SUN","shardingTotalCount":1,"cpuCount":0.1,"memoryMB":32}`)
	u.fails(1, []string{`cron "nonsense"`, "memoryMB = -1"}, "job", "register", "-f", file, "--cron", "nonsense",
		"--memory", "-1")
	u.has(u.does("job", "register", "-f", file, "--check"), "no errors found", "at 03:00, on Sunday")
	u.fails(4, nil, "job", "show", "weekly")
	u.does("job", "register", "-f", file)
	u.fails(6, []string{"weekly", `"elasticjob job update"`}, "job", "register", "-f", file)
	u.fails(2, []string{"which one"}, "job", "register", "-f", file, "monthly")

	// One variable is set and the others are kept, including a secret.
	u.does("job", "update", "nightly", "--env", "LEVEL=debug", "--parameter", "p")
	u.does("job", "update", "nightly", "--env", "MORE=x", "--unset-env", "LEVEL")
	var job struct {
		Env          map[string]any
		JobParameter string
	}
	decode(u, u.does("job", "show", "nightly", "-o", "json"), &job)
	if job.Env["MORE"] != "x" || job.Env["LEVEL"] != nil || job.JobParameter != "p" {
		t.Errorf("%+v after the updates", job)
	}
	u.has(u.does("job", "show", "nightly"), "jobName", "every night", "env.DB_PASSWORD", "******", "ON_TRIGGER")
	u.has(u.does("job", "list"), "NAME", "nightly", "weekly", "READY", "ON_TRIGGER")
	if got := u.does("job", "list", "--search", "week", "-o", "yaml"); !strings.HasPrefix(got,
		"- jobName: weekly\n") || strings.Contains(got, "nightly") {
		t.Errorf("a search for week finds %s", got)
	}
	u.has(u.does("job", "explain", "weekly"), "weekly  READY: it fires on its cron", "next fires:", "UTC (in ")

	for _, step := range []struct{ action, state string }{{"pause", "PAUSED"}, {"resume", "READY"},
		{"shutdown", "DISABLED"}, {"enable", "READY"}, {"disable", "DISABLED"}} {
		u.does("job", step.action, "weekly")
		u.Until("weekly is "+step.state, func() string {
			var x struct{ State string }
			if decode(u, u.does("job", "explain", "weekly", "-o", "json"), &x); x.State != step.state {
				return "it is " + x.State
			}
			return ""
		})
	}
	u.fails(6, []string{`"elasticjob job enable weekly"`}, "job", "resume", "weekly")
	u.fails(4, []string{`there is no job "nigthly"; did you mean nightly?`}, "job", "explain", "nigthly")
	u.fails(4, []string{"nope"}, "job", "delete", "nope", "weekly", "nightly")
	u.has(u.does("job", "list"), "no job matches")
}

// TestCompletion requests completions as a shell does.
func TestCompletion(t *testing.T) {
	u := start(t)
	u.publishes("true")
	id := strings.TrimSpace(u.does("job", "trigger", "nightly"))
	for _, test := range []struct{ typed, want string }{
		{"job show ni", "nightly\n"}, {"app show b", "billing\n"}, {"job register x --app ", "billing\n"}, {"run show nightly@", id + "\n"},
		{"logs n", "nightly\n"}, {"app list -o y", "yaml\n"}, {"job tri", "trigger\t"}, {"job pause nightly ", ":4\n"},
	} {
		// Completion does not wait for a busy server: the shell gets nothing, and the user tries again.
		u.Until(test.typed+" is completed", func() string {
			if got := u.does(append([]string{"__complete"},
				strings.Split(test.typed, " ")...)...); !strings.HasPrefix(got, test.want) {
				return fmt.Sprintf("with %q, want %q", got, test.want)
			}
			return ""
		})
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		u.has(u.does("completion", shell), "elasticjob")
	}
}

func TestVersion(t *testing.T) {
	u := start(t)
	u.has(u.does("version"), "client  dev (", "server  dev")
	var all struct {
		Client string
		Server struct{ Status string }
	}
	if decode(u, u.does("version", "-o", "json"), &all); all.Client != "dev" || all.Server.Status != "ok" {
		t.Errorf("%+v", all)
	}
}

func TestMistakes(t *testing.T) {
	u := start(t)
	for name, test := range map[string]struct {
		status int
		says   string
		args   []string
	}{
		"no such command": {2, `elasticjob job has no command "triger"; did you mean trigger?`, []string{"job", "triger", "x"}},
		"nothing like it": {2, `elasticjob has no command "nonsense"; see elasticjob --help`, []string{"nonsense"}},
		"below another":   {2, `did you mean job trigger?`, []string{"trigger", "x"}},
		"no such flag":    {2, "unknown flag: --shard", []string{"job", "register", "x", "--shard", "3"}},
		"no name":         {2, "NAME is missing", []string{"job", "show"}},
		"too much":        {2, "expected one NAME", []string{"job", "show", "a", "b"}},
		"no server":       {7, "no answer from http://127.0.0.1:1", []string{"--server", "http://127.0.0.1:1", "job", "list"}},
		"https":           {7, "it speaks http", []string{"--server", strings.Replace(u.URL(), "http:", "https:", 1), "job", "list"}},
		"bad query":       {1, "sort", []string{"job", "list", "--sort", "colour"}},
	} {
		t.Run(name, func(t *testing.T) { u.fails(test.status, []string{"elasticjob: ", test.says}, test.args...) })
	}
}

func decode(u *user, text string, v any) {
	u.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		u.Fatalf("%v in %s", err, text)
	}
}
