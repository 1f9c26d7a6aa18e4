package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// serve starts a server and counts its requests.
func serve(t *testing.T, handle http.HandlerFunc) (url string, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		handle(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// refuses answers with an error in the API's format.
func refuses(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"code":%q,"message":%q}}`, code, message)
}

// TestOfSeveralNamesEachHasADocument: with several names, a program can tell each document from the next one.
func TestOfSeveralNamesEachHasADocument(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "{\"appName\": %q}", strings.Split(r.URL.Path, "/")[3])
	})
	for form, want := range map[string]string{
		"json": "{\"appName\":\"a\"}\n{\"appName\":\"b\"}\n",
		"yaml": "appName: a\n---\nappName: b\n",
	} {
		if got := newSession(t).ok("--server", server, "app", "disable", "a", "b", "-o", form); got != want {
			t.Errorf("%s: %q, want %q", form, got, want)
		}
	}
	if got := newSession(t).ok("--server", server, "app", "disable", "a", "-o",
		"json"); got != "{\n  \"appName\": \"a\"\n}\n" {
		t.Errorf("of one name: %q", got)
	}
}

// TestOutputThatCannotBeRead: each stream that cannot be read is an error, followed or not, and the other streams are
// still printed.
func TestOutputThatCannotBeRead(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api/execution/j@1":
			fmt.Fprint(w, `{"state":"FINISHED","shards":[{"item":0,"taskId":"t0"},{"item":1,"taskId":"t1"}]}`)
		case r.URL.Path == "/api/task/t1/logs" && r.URL.Query().Get("stream") == "stderr":
			fmt.Fprint(w, "here\n")
		case strings.HasSuffix(r.URL.Path, "/logs"):
			refuses(w, http.StatusGone, "log_gone", "it is gone")
		default:
			<-r.Context().Done()
		}
	})
	for _, args := range [][]string{{"logs", "j@1"}, {"logs", "-f", "j@1"}} {
		s := newSession(t)
		a, _, said := s.cli("")
		a.err = &lockedWriter{w: said}
		status := a.run(s.Context(), append([]string{"--server", server}, args...))
		if err := said.String(); status != statusNotFound || strings.Count(err, "it is gone") != 3 ||
			!strings.Contains(err, "here") {
			t.Errorf("%v: status %d: %s: want three errors and one line", args, status, err)
		}
	}
}

// TestOutputOfAnAttempt: the output of an earlier attempt is that of its task.
func TestOutputOfAnAttempt(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api/execution/j@1":
			fmt.Fprint(w, `{"state":"FINISHED","shards":[{"item":0,"taskId":"t2","attempt":2,"earlier":[{"attempt":1,"taskId":"t1"}]}]}`)
		case r.URL.Query().Get("stream") == "stdout":
			fmt.Fprintln(w, strings.Split(r.URL.Path, "/")[3])
		}
	})
	for attempt, want := range map[string]string{"0": "t2\n", "1": "t1\n", "2": "t2\n", "3": ""} {
		if got := newSession(t).ok("--server", server, "logs", "j@1", "--attempt", attempt); got != want {
			t.Errorf("%s: %q, want %q", attempt, got, want)
		}
	}
}

// TestOutputOfOneStream: if a cluster keeps stderr in stdout, both streams are printed once, and stderr alone is an
// error.
func TestOutputOfOneStream(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("stream") == "stderr" {
			refuses(w, http.StatusNotFound, "one_stream", "ask for stdout")
			return
		}
		fmt.Fprint(w, "here\n")
	})
	const task = "j@-@0@-@READY@-@a@-@1"
	for _, args := range [][]string{{"logs", task}, {"logs", "-f", task}, {"logs", "--tail", "1", task}} {
		if got := newSession(t).ok(append([]string{"--server", server}, args...)...); got != "here\n" {
			t.Errorf("%v: %q", args, got)
		}
	}
	a, _, said := newSession(t).cli("")
	if status := a.run(t.Context(), []string{"--server", server, "logs", "--stream", "stderr",
		task}); status != statusNotFound || !strings.Contains(said.String(), "ask for stdout") {
		t.Errorf("status %d: %s", status, said)
	}
}

// TestATriggerWhoseOutcomeIsUnknownSaysItsKey: the user needs the idempotency key to send the trigger again.
func TestATriggerWhoseOutcomeIsUnknownSaysItsKey(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	keys := make(chan string, 1)
	server, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Idempotency-Key")
		interrupt()
		<-r.Context().Done()
	})
	a, _, said := newSession(t).cli("")
	if status := a.run(ctx, []string{"--server", server, "job", "trigger", "j"}); status != statusInterrupted {
		t.Errorf("status %d", status)
	}
	if want := "--key " + <-keys + " sends it again without a second run"; !strings.Contains(said.String(), want) {
		t.Errorf("%q, want %q in it", said.String(), want)
	}
}

// TestExplainTellsWhatKeepsARun: a shard that cannot start is not shown as running, and shards that ended badly are
// shown with the reason.
func TestExplainTellsWhatKeepsARun(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"jobName":"j","state":"WAITING","nextFires":[],"waiting":[],`+
			`"running":[{"executionId":"j@1","item":0,"taskId":"t0","state":"LAUNCHING","agent":"n1","since":"2026-05-01T11:59:00Z","reason":"ErrImagePull: no such image"}],`+
			`"ended":[{"executionId":"j@1","item":1,"taskId":"t1","state":"LOST","agent":"n2","reason":"its node is gone"},`+
			`{"executionId":"j@1","item":2,"taskId":"","state":"KILLED","agent":"","reason":"killed on request"}]}`)
	})
	got := newSession(t).ok("--server", server, "job", "explain", "j")
	for _, want := range []string{
		"j  WAITING: shards wait, and none runs\n", "j@1 shard 0: LAUNCHING on n1", "ErrImagePull: no such image",
		"j@1 shard 1: LOST on n2\n    its node is gone\n",
		"j@1 shard 2: KILLED\n    killed on request\n", // killed before it was launched
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in:\n%s", want, got)
		}
	}
}

// TestFiresAreShownInTheZoneOfTheJob: fires are shown as the server sends them, in the zone of the job, with its name.
func TestFiresAreShownInTheZoneOfTheJob(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api/job/check":
			fmt.Fprint(w, `{"document":{},"cron":{"words":"at 03:00","timeZone":"Asia/Shanghai","nextFires":[{"time":"2026-05-01T19:00:00Z","local":"2026-05-02T03:00:00+08:00"}]}}`)
		case strings.HasSuffix(r.URL.Path, "/explain"):
			fmt.Fprint(w, `{"jobName":"j","state":"READY","nextFires":["2026-05-02T03:00:00+08:00"],"timeZone":"Asia/Shanghai"}`)
		default:
			fmt.Fprint(w, `{"jobName":"j"}`)
		}
	})
	for _, line := range []string{"job explain j", "job show j", "job register j --check"} {
		args := strings.Fields(line)
		got := newSession(t).ok(append([]string{"--server", server}, args...)...)
		if want := "2026-05-02 03:00:00 +08:00 Asia/Shanghai (in 7h00m)\n"; !strings.Contains(got, want) {
			t.Errorf("%v: there is no %q in:\n%s", args, want, got)
		}
	}
}

// TestRunsShowWhatIsNotable: a run shows the notes about finished shards, and the last run and the counts of a daemon's
// shards.
func TestRunsShowWhatIsNotable(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/executions" {
			fmt.Fprint(w, `[{"executionId":"d@1","source":"DAEMON","state":"KILLED","shards":{"KILLED":1}}]`)
			return
		}
		fmt.Fprint(w, `{"executionId":"j@1","state":"FINISHED","shards":[{"item":0,"state":"FINISHED","note":"it used up to 300 MB"},`+
			`{"item":1,"state":"KILLED","failureCause":"the job is disabled","daemon":{"runs":7,"failed":1,"skipped":0,`+
			`"lastRun":{"fireTime":"2026-05-01T11:59:00Z","state":"FINISHED","durationMillis":12,"note":"it used up to 400 MB"}}}]}`)
	})
	shown := newSession(t).ok("--server", server, "run", "show", "j@1")
	waited := newSession(t).ok("--server", server, "run", "wait", "j@1")
	listed := newSession(t).ok("--server", server, "run", "list")
	for want, in := range map[string]string{
		"shard 0: it used up to 300 MB\n":                shown,
		"shard 0 FINISHED: it used up to 300 MB\n":       waited,
		"shard 1: the job is disabled\n":                 shown,
		"7 runs, 1 failed, 0 skipped":                    shown,
		"(1m00s ago), took 12ms\n  it used up to 400 MB": shown,
		`"elasticjob run show RUN" counts them`:          listed,
	} {
		if !strings.Contains(in, want) {
			t.Errorf("there is no %q in:\n%s", want, in)
		}
	}
}

// TestAWaitTellsTheReason: the reason for which a run waits is printed once, and again when it changes.
func TestAWaitTellsTheReason(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	printed := &lockedWriter{w: &out}
	text := func() string {
		printed.mu.Lock()
		defer printed.mu.Unlock()
		return out.String()
	}
	answers := []string{
		`{"state":"WAITING","reason":"no room: POST /api/job/j/pause"}`,
		`{"state":"RUNNING","shards":[{"item":0,"state":"RUNNING"},{"item":1,"state":"WAITING","reason":"tried again"}]}`,
		`{"state":"RUNNING","shards":[{"item":0,"state":"FINISHED"},{"item":1,"state":"WAITING","reason":"tried again"}]}`,
		`{"state":"FINISHED","shards":[{"item":0,"state":"FINISHED"},{"item":1,"state":"FINISHED"}]}`,
	}
	step := 0
	server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/api/execution/") {
			w.WriteHeader(http.StatusNotFound) // the client then asks once a second
			return
		}
		if now := text(); strings.Contains(now, "shard 0 FINISHED") {
			step = 3
		} else if strings.Contains(now, "tried again") {
			step = 2
		} else if strings.Contains(now, "no room") {
			step = 1
		}
		fmt.Fprint(w, answers[step])
	})
	a, _, _ := newSession(t).cli("")
	a.out = printed
	if status := a.run(t.Context(), []string{"--server", server, "run", "wait", "j@1"}); status != 0 {
		t.Errorf("status %d", status)
	}
	for _, want := range []string{"14:00:00 waiting: no room: \"elasticjob job pause j\"\n",
		"14:00:00 shard 1 waiting: tried again\n"} {
		if strings.Count(text(), want) != 1 {
			t.Errorf("%q is not there once in:\n%s", want, text())
		}
	}
}

// TestDefaultsAreShown: a note says which CPU and memory a new app or job takes if it asks for none.
func TestDefaultsAreShown(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answer := map[string]any{"cpuCount": 1, "memoryMB": 128} // what the API takes for missing fields
		if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
			t.Error(err)
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	})
	file := filepath.Join(t.TempDir(), "app.yaml")
	if err := os.WriteFile(file, []byte("appName: a\nmemoryMB: 100\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"app publish a":                          "note: its executor on each agent takes 0.1 CPU and 64 MB by default (--cpu, --memory)\n",
		"app publish a --memory 64":              "note: its executor on each agent takes 0.1 CPU by default (--cpu)\n",
		"app publish -f " + file:                 "note: its executor on each agent takes 0.1 CPU by default (--cpu)\n",
		"app publish a --image i":                "",
		"app publish a --cpu 0.1 --memory 64":    "",
		"app update a":                           "",
		"job register j --cpu 0.1":               "note: each shard takes 64 MB by default (--memory)\n",
		"job update j --cron ''":                 "",
		"job register j --memory 64 --cpu 0.001": "",
	} {
		status, _, said := newSession(t).run("", append([]string{"--server", server}, words(line)...)...)
		if status != 0 || said != want {
			t.Errorf("%s: status %d: %q, want %q", line, status, said, want)
		}
	}
}

// TestACheckOfAJobLooksForItsScript: the check of a job looks for its script in the package of its app.
func TestACheckOfAJobLooksForItsScript(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pack, want string
		status     int
	}{
		{`{"problems":[]}`, "", statusDone},
		{`{"problems":[{"field":"bootstrapScript","message":"lib/ap.jar is not in the package"}]}`,
			"elasticjob: nothing was changed; these are wrong:\n  props.script.command.line: lib/ap.jar is not in the package\n", statusFailed},
		{`{"problems":[{"field":"appURL","message":"it can't be fetched"}]}`,
			"note: script.command.line was not looked for in the app's package: it can't be fetched\n", statusDone},
		{"", "note: script.command.line was not looked for in the app's package: only for publishers\n", statusDone},
	} {
		server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			switch {
			case r.URL.Path == "/api/job/check":
				fmt.Fprint(w, `{"document":{"appName":"a","props":{"script.command.line":"java -jar lib/ap.jar"}}}`)
			case string(body) != `{"appName":"a","bootstrapScript":"java -jar lib/ap.jar"}` ||
				r.URL.RawQuery != "update=true":
				refuses(w, http.StatusBadRequest, "test", r.URL.String()+" "+string(body))
			case test.pack == "":
				refuses(w, http.StatusForbidden, "forbidden", "only for publishers")
			default:
				fmt.Fprint(w, test.pack)
			}
		})
		status, _, said := newSession(t).run("", "--server", server, "job", "register", "j", "--check")
		if status != test.status || said != test.want {
			t.Errorf("status %d: %q, want %q", status, said, test.want)
		}
	}
}

// TestEveryFieldHasAFlag checks that the commands which write apps and jobs have a flag for every field. Exceptions are
// the names, which are arguments, the template of pods, and env and props, whose flags set single entries.
func TestEveryFieldHasAFlag(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		config any
		flags  []field
		others []string
	}{
		{app.Config{}, appFields, []string{"appName", "podTemplate"}},
		{jobs.Config{}, jobFields, []string{"jobName", "env", "props"}},
	} {
		names := slices.Clone(test.others)
		for _, f := range test.flags {
			names = append(names, f.name)
		}
		var fields []string
		for f := range reflect.TypeOf(test.config).Fields() {
			fields = append(fields, before(f.Tag.Get("json"), ","))
		}
		slices.Sort(names)
		slices.Sort(fields)
		if !slices.Equal(names, fields) {
			t.Errorf("there are flags for %v, and the fields are %v", names, fields)
		}
	}
}

// TestTheLastFailedRunOfADaemonIsShown: the last failed run is shown, unless it is the last run, which is shown anyway.
func TestTheLastFailedRunOfADaemonIsShown(t *testing.T) {
	t.Parallel()
	const good, bad = `{"fireTime":"2026-05-01T11:00:10Z","state":"FINISHED"}`,
		`{"fireTime":"2026-05-01T11:00:00Z","state":"FAILED","failureCause":"no luck"}`
	for last, want := range map[string]int{good: 1, bad: 0} {
		server, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"executionId":"j@1","state":"RUNNING","shards":[{"item":0,"daemon":{"lastRun":%s,"lastFailure":%s}}]}`, last, bad)
		})
		status, out, said := newSession(t).run("", "--server", server, "run", "show", "j@1")
		if status != 0 || strings.Count(out, "shard 0: its last failed run FAILED") != want ||
			strings.Count(out, "no luck") != 1 {
			t.Errorf("last run %s: status %d: %s%s", last, status, out, said)
		}
	}
}
