package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/resources"
)

// stage plays a cluster by hand around one core: it keeps what is written and
// gives names to what is said, so that a test reads as a story.
type stage struct {
	t      *testing.T
	core   *Core
	opt    CoreOptions
	rnd    rand.Source
	now    time.Time
	stored map[string][]byte
	last   Decision
	offerN int
	// accepts are the ACCEPTs that were not answered yet.
	accepts []CallAccept
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, opt: DefaultCoreOptions(), rnd: rand.NewPCG(1, 2), stored: map[string][]byte{},
		now: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}
	s.restart()
	return s
}

// restart begins the next term with what is stored, and subscribes.
func (s *stage) restart() {
	s.t.Helper()
	s.core = s.load()
	s.step()
	s.subscribed()
}

// load makes a core of what is stored.
func (s *stage) load() *Core {
	s.t.Helper()
	core := NewCore(s.opt)
	if err := core.Load(s.now, Stored{s.entries()}); err != nil {
		s.t.Fatal(err)
	}
	return core
}

func (s *stage) entries() (all []registry.Entry) {
	for _, path := range sortedKeys(s.stored) {
		all = append(all, registry.Entry{Path: path, Value: s.stored[path]})
	}
	return all
}

func (s *stage) subscribed() {
	s.t.Helper()
	number := int64(-1)
	for _, c := range s.last.Calls {
		if c, ok := c.(CallSubscribe); ok {
			number = c.Session
		}
	}
	if number < 0 {
		s.t.Fatalf("no SUBSCRIBE among %+v", s.last.Calls)
	}
	s.step(SessionBegan{Session: number, MasterID: "master-1"})
}

func (s *stage) step(events ...Event) Decision {
	s.t.Helper()
	s.last = s.core.Step(s.now, s.rnd, events)
	for _, w := range s.last.Writes {
		if w.Delete {
			delete(s.stored, w.Path)
		} else {
			s.stored[w.Path] = w.Value
		}
	}
	s.accepts = append(s.accepts, calls[CallAccept](s.last)...)
	return s.last
}

func (s *stage) after(d time.Duration, events ...Event) Decision {
	s.t.Helper()
	s.now = s.now.Add(d)
	return s.step(events...)
}

// until lets time pass in the steps that the core asks for.
func (s *stage) until(d time.Duration) {
	s.t.Helper()
	end := s.now.Add(d)
	for i := 0; ; i++ {
		if i > 100_000 {
			s.t.Fatal("the core wants to step again and again without time passing")
		}
		wake := s.last.Wake
		if wake.IsZero() || wake.After(end) {
			break
		}
		if wake.After(s.now) {
			s.now = wake
		} else {
			s.now = s.now.Add(time.Millisecond)
		}
		s.step()
	}
	s.now = end
	s.step()
}

func (s *stage) apply(p plan, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, w := range p.writes {
		if w.Delete {
			delete(s.stored, w.Path)
		} else {
			s.stored[w.Path] = w.Value
		}
	}
	s.step(p.events...)
}

func (s *stage) app(change ...func(*app.Config)) {
	s.t.Helper()
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount, a.MemoryMB = "my_app", "http://127.0.0.1/p.tar", "bin/start.sh", 0.5, 128
	for _, f := range change {
		f(&a)
	}
	s.apply(s.core.planRegisterApp(a))
}

func (s *stage) job(change ...func(*jobs.Config)) {
	s.t.Helper()
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount, j.MemoryMB = "my_job", "my_app", jobs.Transient, 3, 1, 64
	for _, f := range change {
		f(&j)
	}
	s.apply(s.core.planRegisterJob(j))
}

func (s *stage) told(e cluster.Event) Event {
	return Told{Session: s.core.session.number, Event: e}
}

func (s *stage) offer(agent string, cpus, mem float64, executors ...string) Decision {
	s.t.Helper()
	s.offerN++
	return s.step(s.told(cluster.Offers{Offers: []cluster.Offer{{
		ID: fmt.Sprintf("O%d", s.offerN), AgentID: agent, Hostname: agent, AgentURL: "http://" + agent + ":5051",
		Resources: resources.New(cpus, mem), ExecutorIDs: executors,
	}}}))
}

// accepted answers all ACCEPTs with 202 and returns their launches.
func (s *stage) accepted() []cluster.TaskLaunch {
	s.t.Helper()
	var launches []cluster.TaskLaunch
	var answers []Event
	for _, c := range s.accepts {
		launches = append(launches, c.Accept.Tasks...)
		answers = append(answers, AcceptAnswered{Session: s.core.session.number, Seq: c.Seq, OK: true})
	}
	s.accepts = nil
	if len(answers) > 0 {
		s.step(answers...)
	}
	return launches
}

func (s *stage) update(l cluster.TaskLaunch, state cluster.State, more ...func(*cluster.Update)) Decision {
	s.t.Helper()
	id, err := jobs.ParseTaskID(l.TaskID)
	if err != nil {
		s.t.Fatal(err)
	}
	u := cluster.Update{TaskID: l.TaskID, AgentID: id.Agent, ExecutorID: l.Executor.ID, State: state, Source: cluster.FromExecutor,
		UUID: fmt.Appendf(nil, "%s-%s", state, l.TaskID), Timestamp: s.now}
	for _, f := range more {
		f(&u)
	}
	return s.step(s.told(u))
}

func fromMaster(reason string) func(*cluster.Update) {
	return func(u *cluster.Update) { u.Source, u.Reason, u.UUID = cluster.FromMaster, reason, nil }
}

func fromAgent(reason string) func(*cluster.Update) {
	return func(u *cluster.Update) { u.Source, u.Reason = cluster.FromAgent, reason }
}

func (s *stage) run(launches []cluster.TaskLaunch) {
	s.t.Helper()
	for _, l := range launches {
		s.update(l, cluster.Running)
	}
}

func (s *stage) finish(launches []cluster.TaskLaunch) {
	s.t.Helper()
	for _, l := range launches {
		s.update(l, cluster.Finished)
	}
}

func (s *stage) trigger() string {
	s.t.Helper()
	d := s.step(TriggerAsked{Token: 1, Job: "my_job"})
	if len(d.Replies) != 1 || d.Replies[0].Err != nil {
		s.t.Fatalf("trigger: %+v", d.Replies)
	}
	return d.Replies[0].ExecutionID
}

func (s *stage) execution(id string) ExecutionView {
	s.t.Helper()
	v, err := s.core.Execution(id)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

func calls[C Call](d Decision) []C {
	var out []C
	for _, c := range d.Calls {
		if c, ok := c.(C); ok {
			out = append(out, c)
		}
	}
	return out
}

func everyFiveSeconds(j *jobs.Config) { j.Cron = "0/5 * * * * ?" }

func TestOneRunFromFireToEnd(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(everyFiveSeconds)
	s.until(4950 * time.Millisecond)
	s.offer("S1", 8, 8192)
	s.now = s.now.Truncate(5 * time.Second).Add(5*time.Second + time.Millisecond)
	s.step()
	launches := s.accepted()
	if len(launches) != 3 {
		t.Fatalf("%d launches, want 3; calls %+v, notes %+v", len(launches), s.last.Calls, s.last.Notes)
	}
	s.run(launches)
	id := "my_job@20261121T080005Z"
	if v := s.execution(id); v.State != Running {
		t.Fatalf("state %s, want RUNNING", v.State)
	}
	s.finish(launches)
	v := s.execution(id)
	if v.State != Finished || v.Source != NormalTrigger || !v.FireTime.Equal(time.Date(2026, 11, 21, 8, 0, 5, 0, time.UTC)) {
		t.Fatalf("%+v", v)
	}
	s.restart()
	if again := s.execution(id); again.State != Finished || len(again.Shards) != 3 {
		t.Fatalf("after a restart: %+v", again)
	}
}

func TestO3RunningShardsAreFoundAgainAfterRestart(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	id := s.trigger()
	s.offer("S1", 8, 8192)
	launches := s.accepted()
	s.run(launches[:2])
	s.restart()
	var asked []string
	for _, c := range calls[CallReconcile](s.last) {
		for _, ref := range c.Tasks {
			asked = append(asked, ref.TaskID)
		}
	}
	if len(asked) != 3 {
		t.Fatalf("asked about %q, want all three tasks", asked)
	}
	// The third never reached its agent: the master says GONE of it (E1).
	s.update(launches[0], cluster.Running, fromMaster(cluster.ReasonReconciliation))
	s.update(launches[1], cluster.Running, fromMaster(cluster.ReasonReconciliation))
	s.update(launches[2], cluster.Gone, fromMaster(cluster.ReasonReconciliation))
	s.until(time.Second)
	s.offer("S1", 8, 8192, launches[0].Executor.ID)
	second := s.accepted()
	if len(second) != 1 || second[0].TaskID == launches[2].TaskID {
		t.Fatalf("launched %+v, want item 2 alone under a new id (L5)", second)
	}
	if second[0].Executor.ID != launches[0].Executor.ID {
		t.Fatalf("executor %s, want the running %s", second[0].Executor.ID, launches[0].Executor.ID)
	}
	s.run(second)
	s.finish(slices.Concat(launches[:2], second))
	if v := s.execution(id); v.State != Finished || v.Shards[2].Attempt != 2 {
		t.Fatalf("%+v", v)
	}
}

func TestF5OneExecutionAtATime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		misfire     bool
		wantWaiting int
		wantDropped int64
	}{{false, 0, 4}, {true, 4, 0}} {
		t.Run(fmt.Sprintf("misfire=%v", tt.misfire), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.app()
			s.job(everyFiveSeconds, func(j *jobs.Config) { j.Misfire = tt.misfire })
			s.until(4950 * time.Millisecond)
			s.offer("S1", 8, 8192)
			s.until(60 * time.Millisecond)
			s.run(s.accepted())
			s.until(20 * time.Second)
			x, err := s.core.Explain("my_job", s.now)
			if err != nil {
				t.Fatal(err)
			}
			if len(x.Waiting) != 3*tt.wantWaiting || len(x.Running) != 3 {
				t.Fatalf("waiting %d, running %d", len(x.Waiting), len(x.Running))
			}
			if got := s.core.Stats().FiresDropped; got != tt.wantDropped {
				t.Fatalf("%d fires dropped, want %d", got, tt.wantDropped)
			}
			if tt.misfire && !strings.Contains(x.Waiting[0].Reason, "one at a time") {
				t.Fatalf("reason %q", x.Waiting[0].Reason)
			}
		})
	}
}

func TestL1FirstLaunchIsNotSplit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	id := s.trigger()
	s.offer("S1", 3.4, 8192)
	if got := calls[CallAccept](s.last); len(got) != 0 {
		t.Fatalf("launched %+v with 3.4 CPUs; 3 shards of 1 and an executor of 0.5 need 3.5", got)
	}
	if v := s.execution(id); !strings.Contains(v.Reason, "0.1 CPU") {
		t.Fatalf("reason %q does not say that 0.1 CPU is missing", v.Reason)
	}
	s.offer("S1", 0.1, 10)
	if got := s.accepted(); len(got) != 3 {
		t.Fatalf("%d launches once two offers of the agent suffice, want 3", len(got))
	}
}

func TestE2LostShardRunsAgainOnlyWithFailover(t *testing.T) {
	t.Parallel()
	for _, failover := range []bool{false, true} {
		t.Run(fmt.Sprintf("failover=%v", failover), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.app()
			s.job(func(j *jobs.Config) { j.Failover, j.ShardingTotalCount = failover, 1 })
			id := s.trigger()
			s.offer("S1", 8, 8192)
			l := s.accepted()
			s.run(l)
			s.update(l[0], cluster.Failed, fromAgent(cluster.ReasonExecutorTerminated))
			v := s.execution(id)
			if !failover {
				if v.State != Failed || v.Shards[0].State != Lost {
					t.Fatalf("%+v", v)
				}
				return
			}
			if v.State != Running || v.Shards[0].State != Waiting {
				t.Fatalf("%+v", v)
			}
			s.until(time.Second)
			s.offer("S2", 8, 8192)
			again := s.accepted()
			if len(again) != 1 || !strings.Contains(again[0].TaskID, "@-@FAILOVER@-@S2@-@") {
				t.Fatalf("%+v", again)
			}
		})
	}
}

func TestF6DisableKillsAndEnableStartsClean(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(everyFiveSeconds, func(j *jobs.Config) { j.Misfire = true })
	s.until(4950 * time.Millisecond)
	s.offer("S1", 8, 8192)
	s.until(7 * time.Second)
	l := s.accepted()
	s.run(l)
	s.apply(s.core.planDisableJob("my_job", true))
	if got := calls[CallKill](s.last); len(got) != 3 {
		t.Fatalf("%d kills, want 3", len(got))
	}
	d := s.step(TriggerAsked{Token: 9, Job: "my_job"})
	if d.Replies[0].Err == nil || d.Replies[0].Err.Kind != Conflict {
		t.Fatalf("a disabled job was triggered: %+v", d.Replies)
	}
	for _, one := range l {
		s.update(one, cluster.Killed)
	}
	if n := len(s.core.executions); n != 0 {
		t.Fatalf("%d executions left", n)
	}
	s.until(time.Minute)
	s.apply(s.core.planDisableJob("my_job", false))
	if n := len(s.core.executions); n != 0 {
		t.Fatalf("enable made %d executions of the time while it was disabled", n)
	}
	s.until(6 * time.Second)
	if n := len(s.core.executions); n == 0 {
		t.Fatal("no fire after enable")
	}
}

func TestD15AFaultyDocumentStopsNothingElse(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(everyFiveSeconds)
	s.stored[pathJobs+"/broken"] = []byte("{not json")
	s.stored[pathJobs+"/no_shards"] = []byte(`{"jobName":"no_shards","appName":"my_app","jobExecutionType":"TRANSIENT","shardingTotalCount":0,"cpuCount":1,"memoryMB":1}`)
	s.stored[pathApps+"/bad_app"] = []byte("[]")
	s.restart()
	if names := len(s.core.Jobs()); names != 1 {
		t.Fatalf("%d jobs, want the good one", names)
	}
	for _, name := range []string{"broken", "no_shards"} {
		x, err := s.core.Explain(name, s.now)
		if err != nil || x.State != "FAULTY" || len(x.Notes) == 0 {
			t.Fatalf("explain %s: %+v, %v", name, x, err)
		}
		s.apply(s.core.planDeregisterJob(name))
		if _, err := s.core.Explain(name, s.now); err == nil {
			t.Fatalf("%s is still there", name)
		}
	}
	s.app(func(a *app.Config) { a.AppName = "bad_app" })
	if _, err := s.core.App("bad_app"); err != nil {
		t.Fatalf("registering does not replace a document that can't be used: %v", err)
	}
	s.until(6 * time.Second)
	if len(s.core.executions) == 0 {
		t.Fatal("the good job made no fire")
	}
}

func TestLongCausesKeepTheirBeginningAndTheirEnd(t *testing.T) {
	t.Parallel()
	long := "ended by signal 9; end of stderr:\n" + strings.Repeat("é\x01", 5000) + "out of luck"
	got := shorten(long)
	if !strings.HasPrefix(got, "ended by signal 9; end of stderr:\né") || !strings.HasSuffix(got, "é?out of luck") || !strings.Contains(got, "…") ||
		len(got) > causeBytes+len("…") || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if got := shorten("exit status 1\t\n"); got != "exit status 1\t\n" {
		t.Errorf("%q", got)
	}
}
