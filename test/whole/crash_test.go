package whole_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// everySecond is the Quartz cron that fires every second.
const everySecond = "* * * * * ?"

// TestServerKilledAgainAndAgain kills the server with SIGKILL at random times while crons fire and triggers arrive
// (promises 1 and 2, rules F1-F5, O1-O4). A seed only repeats the random times, not the run.
func TestServerKilledAgainAndAgain(t *testing.T) {
	const kills = 15
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))

	m := start(t)
	storm := system.NewStorm(m)
	ended := map[string]string{} // the answers about ended executions, which must not change any more
	remember := func() {
		entries := m.Ledger()
		for _, e := range entries[max(0, len(entries)-20):] {
			if e.What != "end" || ended[e.Execution] != "" {
				continue
			}
			// The events of its tasks may be shown later than the end of the execution. Only with all of them is the
			// answer final.
			if a, err := m.Try("GET", "/api/execution/"+e.Execution, ""); err == nil &&
				strings.Contains(a.Body, `"state":"FINISHED","reason"`) &&
				strings.Count(a.Body, `"kind":"TASK_FINISHED"`) == strings.Count(a.Body, `"attempt":`) {
				ended[e.Execution] = a.Body
			}
		}
	}
	for kill := range kills {
		// Between 0 and 3 s after the server is ready, and sometimes before it is.
		lifetime := time.Duration(random.Float64() * float64(3*time.Second))
		at := time.Now().Add(lifetime)
		m.Until(fmt.Sprintf("server %d has run for %v", kill, lifetime), func() string {
			storm.Ask(fmt.Sprint("key-", kill, "-", random.IntN(4)))
			remember()
			if time.Now().Before(at) {
				return "not yet"
			}
			return ""
		})
		isOver := m.Async("POST", "/api/job/asked/trigger", "Idempotency-Key: late-"+fmt.Sprint(kill))
		m.Kill()
		<-isOver
		if random.IntN(3) == 0 {
			m.StartAndKill(time.Duration(random.Float64() * float64(time.Second/2)))
		}
		m.Launch()
		if random.IntN(3) > 0 {
			m.Ready()
		}
	}
	m.Ready()
	for kill := range kills {
		storm.Ask(fmt.Sprint("late-", kill)) // whether or not it was accepted before the kill
	}
	storm.AskAgain()
	counted := storm.Settle(false)
	m.OnceEach()
	if now := m.Executors(); len(now) > 1 {
		t.Errorf("executors %v: one is enough for one app", now)
	}
	for id, before := range ended {
		m.Until("the ended execution is unchanged", func() string {
			return changed(t, before, m.OK("GET", "/api/execution/"+id, ""))
		})
	}
	t.Logf("%d kills: %s; %d ended executions compared", kills, counted, len(ended))
	m.Stop()
}

// TestConfigurationSurvivesKill kills the server while the configuration is changed. Answered changes are kept, and the
// unanswered one was made completely or not at all.
func TestConfigurationSurvivesKill(t *testing.T) {
	m := start(t)
	m.App("a", only(":"), nil)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	want := map[string]string{} // the jobs as answered
	// answers are those to the steps of any job, in which NAME stands for its name.
	answers := map[string]string{}
	number := 0
	for range 6 {
		pid, first := m.ServerPID(), number
		name, unanswered := "", ""
		for unanswered == "" {
			name = fmt.Sprint("job-", number)
			number++
			if number == first+3 { // each second job is kept, so that each round adds one
				time.AfterFunc(time.Duration(random.IntN(300))*time.Millisecond, func() {
					_ = syscall.Kill(pid, syscall.SIGKILL) // it is still running
				})
			}
			for _, step := range []struct{ method, path, body string }{
				{"POST", "/api/job/register", m.JobText(name, "a", nil)},
				{"PUT", "/api/job/update", `{"jobName":"` + name + `","description":"changed"}`},
				{"POST", "/api/job/" + name + "/disable", ""},
				{"DELETE", "/api/job/" + name + "/deregister", ""},
			} {
				if step.method == "DELETE" && number%2 == 0 {
					continue
				}
				kind := strings.ReplaceAll(step.method+" "+step.path, name, "NAME")
				a, err := m.Try(step.method, step.path, step.body)
				if err != nil {
					unanswered = kind
					break
				}
				if a.Status != http.StatusOK {
					t.Fatalf("%s %s: %d %s", step.method, step.path, a.Status, a.Body)
				}
				answer := a.Body
				if before, _, noted := strings.Cut(answer, `,"notes":`); noted { // only answers to changes have notes
					answer = before + "}\n"
				}
				want[name], answers[kind] = answer, strings.ReplaceAll(answer, name, "NAME")
				if step.method == "DELETE" {
					delete(want, name)
				}
			}
		}
		m.AwaitEnd()
		m.Start()
		stored := func(name string) string {
			a := m.Call("GET", "/api/job/jobs/"+name, "")
			if a.Status == http.StatusNotFound {
				return ""
			}
			disabled := strings.TrimSpace(m.OK("GET", "/api/job/"+name+"/disable", ""))
			state := map[string]string{"true": "DISABLED", "false": "ENABLED"}[disabled]
			return strings.TrimSuffix(strings.TrimSpace(a.Body), "}") + `,"disabled":` + disabled + `,"state":"` + state +
				"\"}\n"
		}
		// The job of the unanswered step is as it was answered before, or as this step makes it.
		before, after := want[name], strings.ReplaceAll(answers[unanswered], "NAME", name)
		if strings.HasPrefix(unanswered, "DELETE") {
			after = ""
		}
		if now := stored(name); now != before && now != after {
			t.Errorf("after an unanswered %s, job %s is\n%s\nwant\n%s\nor\n%s", unanswered, name, now, before, after)
		} else if now != "" {
			m.OK("DELETE", "/api/job/"+name+"/deregister", "")
		}
		delete(want, name)
		for name, text := range want {
			if now := stored(name); now != text {
				t.Errorf("job %s was answered as\n%s and is now\n%s", name, text, now)
			}
		}
	}
	if n := strings.Count(m.OK("GET", "/api/job/jobs", ""), `"jobName"`); n != len(want) {
		t.Errorf("there are %d jobs, want %d", n, len(want))
	}
	if len(want) < 6 {
		t.Errorf("only %d jobs were kept until the end, want at least 6", len(want))
	}
	m.Stop()
}

// TestRunningTasksAreFoundAgain kills the server while tasks run. Some of them end while no server runs, and another
// one later. The next server knows their outcome, with exit status and output.
func TestRunningTasksAreFoundAgain(t *testing.T) {
	m := start(t)
	path, release := m.Hold()
	m.App("found", system.Files{"bin/start.sh": system.Ledger,
		"bin/fails.sh": script(`while [ -e "$HOLD" ]; do sleep 0.1; done; echo "it was not to be" >&2; exit 7`)}, nil)
	m.Job("good", "found", system.Doc{"shardingTotalCount": 2, "env": env("HOLD", path)})
	m.Job("bad", "found", system.Doc{"env": env("HOLD", path), "props": env("script.command.line", "bin/fails.sh")})
	longPath, releaseLong := m.Hold()
	m.Job("long", "found", system.Doc{"env": env("HOLD", longPath)})
	good, bad, long := m.Trigger("good"), m.Trigger("bad"), m.Trigger("long")
	m.AwaitStarts(good, 2)
	m.AwaitStarts(long, 1)
	before := m.AwaitShards(good, "RUNNING")
	m.AwaitShards(bad, "RUNNING")
	m.Kill()
	release() // they end while no server runs
	m.Until("the tasks have ended", func() string {
		if _, ends := m.Ran(); len(ends) < 2 {
			return fmt.Sprint(ends)
		}
		return ""
	})
	m.Start()
	if s := m.AwaitShards(long, "RUNNING").Shards[0]; s.Attempt != 1 {
		t.Errorf("the task that runs on: %+v", s)
	}
	releaseLong()
	if s := m.Await(long, "FINISHED").Shards[0]; s.Attempt != 1 {
		t.Errorf("the task that ran on: %+v", s)
	}
	after := m.Await(good, "FINISHED")
	for i := range after.Shards {
		a, b := after.Shards[i], before.Shards[i]
		if a.TaskID != b.TaskID || a.Attempt != 1 || a.ExitStatus == nil || *a.ExitStatus != 0 {
			t.Errorf("found again: %+v, was %+v", a, b)
		}
	}
	if s := m.Await(bad, "FAILED").Shards[0]; s.ExitStatus == nil || *s.ExitStatus != 7 ||
		!strings.Contains(s.FailureCause, "not to be") || s.Attempt != 1 {
		t.Errorf("found again: %+v", s)
	} else if got := m.Logs(s.TaskID, "stream=stderr"); got != "it was not to be\n" {
		t.Errorf("output after kill -9: %q", got)
	}
	if n := len(m.Executors()); n != 1 {
		t.Errorf("%d executors, want the one that was there", n)
	}
	m.Stop()
	m.OnceEach()
}
