package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/resources"
)

// edited has somebody else write an entry, or, with no value, delete it.
func (s *stage) edited(path, value string, version int64) []Event {
	s.t.Helper()
	entry := registry.Entry{Path: path, Value: []byte(value), Version: version}
	if value == "" {
		delete(s.stored, path)
	} else {
		s.stored[path] = []byte(value)
	}
	events := s.core.Reloaded(path, entry, value != "", s.now)
	s.step(events...)
	return events
}

func TestChangesFromOutsideAreTakenOver(t *testing.T) {
	t.Parallel()
	for _, format := range []DocumentFormat{JSONDocuments, YAMLDocuments} {
		s := newStage(t)
		s.opt.Documents = format
		s.restart()
		s.app()
		s.job(func(c *jobs.Config) { c.Cron = "0 0 3 * * ?" })
		const path = "/config/job/my_job"
		ours := string(s.stored[path])
		if events := s.edited(path, ours, 0); events != nil {
			t.Errorf("our own commit, told again, changes something: %+v", events)
		}
		since := s.core.jobs["my_job"].since
		s.now = s.now.Add(time.Minute)
		s.edited(path, ours, 1)
		if j := s.core.jobs["my_job"]; j.version != 1 || !j.since.Equal(since) {
			t.Error("the same content in a new version changes only the version (rule F2)")
		}
		// YAML by hand, whatever we write ourselves: a new cron counts from now.
		byHand := "jobName: my_job\nappName: my_app\njobExecutionType: TRANSIENT\ncron: 0 0 4 * * ?   # an hour later\nshardingTotalCount: 2\ncpuCount: 1\nmemoryMB: 64\njobType: SCRIPT\n"
		s.edited(path, byHand, 2)
		j := s.core.jobs["my_job"]
		if j.cfg.Cron != "0 0 4 * * ?" || j.cfg.ShardingTotalCount != 2 || !j.since.Equal(s.now) {
			t.Errorf("not taken over: %+v", j.cfg)
		}
		if v, err := s.core.Job("my_job"); err != nil || !strings.Contains(strings.Join(v.Notes, ";"), "jobType is ignored") {
			t.Errorf("notes: %v, %v", v.Notes, err)
		}
		// A broken one keeps the last good one, and says so until it is mended.
		s.edited(path, "jobName: [", 3)
		if !slices.ContainsFunc(s.last.Notes, func(n Note) bool { return n.Kind == NoteFaulty && strings.Contains(n.Detail, path) }) {
			t.Errorf("the log does not say so: %+v", s.last.Notes)
		}
		if again := s.edited(path, "jobName: [", 3); again != nil {
			t.Error("the same fault is told twice")
		}
		told := func() string {
			x, err := s.core.Explain("my_job", s.now)
			if err != nil || len(x.NextFires) == 0 {
				t.Fatalf("the last good document is not in force: %+v, %v", x, err)
			}
			return strings.Join(x.Notes, ";")
		}
		if !strings.Contains(told(), "the last good document is in force") || len(s.core.FaultyDocuments()) != 1 {
			t.Errorf("explain: %s", told())
		}
		s.edited("/state/disable/job/my_job", "my_job", 0)
		if !s.core.jobs["my_job"].disabled || !strings.Contains(strings.Join(s.core.notesOf(s.core.jobs["my_job"]), ";"), "last good") {
			t.Error("a mark set from outside does not disable, or mends a document")
		}
		s.apply(s.core.planDisableJob("my_job", false))
		if !strings.Contains(told(), "last good") {
			t.Error("enabling mends a document")
		}
		s.edited(path, byHand, 4)
		if strings.Contains(told(), "last good") || len(s.core.FaultyDocuments()) != 0 {
			t.Errorf("explain of the mended one: %s", told())
		}
		// Deleted: a deregistration (rule K2).
		s.edited(path, "", 0)
		if _, err := s.core.Job("my_job"); err == nil {
			t.Error("the job is there still")
		}
		// A mark may come before its document.
		s.edited("/state/disable/job/my_job", "my_job", 0)
		s.edited(path, byHand, 0)
		if j := s.core.jobs["my_job"]; j == nil || !j.disabled {
			t.Error("the mark that was there first is not seen")
		}
		s.edited("/state/disable/job/my_job", "", 0)
		if s.core.jobs["my_job"].disabled {
			t.Error("a removed mark does not enable")
		}
		s.edited("/state/disable/app/my_app", "my_app", 0)
		if why := s.core.off(s.core.jobs["my_job"]); !strings.Contains(why, "is disabled") {
			t.Errorf("a disabled app: %s", why)
		}
		s.edited("/config/app/my_app", "", 0)
		if why := s.core.off(s.core.jobs["my_job"]); !strings.Contains(why, "not registered") {
			t.Errorf("a deleted app: %s", why)
		}
		if events := s.core.Reloaded("/config/app/nobody", registry.Entry{}, false, s.now); events != nil {
			t.Errorf("nothing was there and is gone: %+v", events)
		}
	}
}

func TestYAMLDocumentsAreWrittenAsTheOriginalDoes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.Documents = YAMLDocuments
	s.restart()
	s.app()
	s.job(func(c *jobs.Config) { c.Cron = "0 0 3 * * ?" })
	s.apply(s.core.planDisableJob("my_job", true))
	for path, want := range map[string]string{
		"/config/app/my_app":        "appCacheEnable: true\nappName: my_app\nappURL: http://127.0.0.1/p.tar\nbootstrapScript: bin/start.sh\ncpuCount: 0.5\neventTraceSamplingCount: 0\nmemoryMB: 128.0\n",
		"/config/job/my_job":        "appName: my_app\ncpuCount: 1.0\ncron: 0 0 3 * * ?\ndescription: ''\nfailover: false\njobExecutionType: TRANSIENT\njobName: my_job\njobParameter: ''\nmemoryMB: 64.0\nmisfire: false\nshardingItemParameters: ''\nshardingTotalCount: 3\n",
		"/state/disable/job/my_job": "my_job",
	} {
		if got := string(s.stored[path]); got != want {
			t.Errorf("%s is\n%s", path, got)
		}
	}
	before, _ := s.core.Job("my_job")
	s.restart()
	if after, err := s.core.Job("my_job"); err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("read back as %+v, %v", after, err)
	}
}

func TestReconcileAsked(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	s.step(TriggerAsked{Token: 1, Job: "my_job"})
	s.offer("S1", 8, 8000)
	launches := s.accepted()
	s.run(launches)
	s.step(ReconcileAsked{Token: 2, Explicit: true})
	if asked := calls[CallReconcile](s.last); len(asked) != 1 || len(asked[0].Tasks) != 3 || s.last.Replies[0].Err != nil {
		t.Errorf("explicit: %+v, %+v", asked, s.last.Replies)
	}
	s.step(ReconcileAsked{Token: 3})
	if asked := calls[CallReconcile](s.last); len(asked) != 1 || len(asked[0].Tasks) != 0 {
		t.Errorf("implicit: %+v", asked)
	}
	s.step(SessionEnded{Session: s.core.session.number, Reason: "cut"})
	s.step(ReconcileAsked{Token: 4})
	if r := s.last.Replies; len(r) != 1 || r[0].Err == nil || r[0].Err.Kind != Unavailable {
		t.Errorf("without a session: %+v", r)
	}
}

// subscribedAgain answers the SUBSCRIBE that is open.
func (s *stage) subscribedAgain() {
	s.t.Helper()
	s.step(SessionBegan{Session: s.core.session.number, MasterID: "master-1"})
}

func TestF8FailedStartsSurviveALeader(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(c *jobs.Config) { c.ShardingTotalCount = 1 })
	s.step(TriggerAsked{Token: 1, Job: "my_job"})
	for range 4 {
		s.offer("S1", 8, 8000)
		launches := s.accepted()
		if len(launches) != 1 {
			t.Fatalf("%d launches", len(launches))
		}
		s.update(launches[0], cluster.Failed, fromAgent(cluster.ReasonContainerLaunchFailed))
		s.until(10 * time.Second)
	}
	before := *s.core.apps["my_app"].starts["S1"]
	s.restart()
	after := s.core.apps["my_app"].starts["S1"]
	if after == nil || after.Tries != before.Tries || !after.Since.Equal(before.Since) {
		t.Fatalf("the new leader knows %+v of %+v", after, before)
	}
	s.apply(s.core.planUpdateApp("my_app", func(a app.Config) (app.Config, error) { a.BootstrapScript = "bin/other.sh"; return a, nil }))
	if len(s.core.apps["my_app"].starts) > 0 || s.stored["/brain/start/my_app@-@S1"] != nil {
		t.Error("a changed app is kept off the agent for what the old one did")
	}
}

func TestMaintenanceKeepsNewTasksAway(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(c *jobs.Config) { c.ShardingTotalCount = 1 })
	s.step(TriggerAsked{Token: 1, Job: "my_job"})
	offer := func(agent string, begins time.Duration) {
		s.offerN++
		s.step(s.told(cluster.Offers{Offers: []cluster.Offer{{ID: fmt.Sprintf("O%d", s.offerN), AgentID: agent, Hostname: agent, AgentURL: "http://" + agent,
			Resources: resources.New(8, 8000), Unavailable: s.now.Add(begins)}}}))
	}
	offer("S1", 30*time.Minute)
	x, err := s.core.Explain("my_job", s.now)
	if err != nil || len(s.accepts) > 0 || len(x.Waiting) != 1 || !strings.Contains(x.Waiting[0].Reason, "its maintenance begins at 2026-11-21T08:30:00Z") {
		t.Fatalf("placed, or explain names another reason: %+v, %v", x.Waiting, err)
	}
	if d := calls[CallDecline](s.last); len(d) != 1 {
		t.Errorf("its offer is of no use and is held: %+v", s.last.Calls)
	}
	offer("S1", -time.Minute)
	if x, _ = s.core.Explain("my_job", s.now); !strings.Contains(x.Waiting[0].Reason, "in maintenance since") {
		t.Errorf("begun: %s", x.Waiting[0].Reason)
	}
	offer("S2", 2*time.Hour)
	if len(s.accepts) != 1 || s.accepts[0].Accept.AgentID != "S2" {
		t.Error("maintenance that is hours away keeps tasks off")
	}
}

func TestF1TheMarkNeverGoesBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	for i := range 3 {
		s.job(func(c *jobs.Config) { c.JobName, c.Cron = fmt.Sprintf("job_%d", i), "0 * * * * ?" })
	}
	s.until(time.Minute)
	want := string(s.stored[pathMark])
	s.opt.FiresPerStep = 1
	core := s.load()
	for range 5 {
		for _, w := range core.Step(s.now, rand.NewPCG(1, 2), nil).Writes {
			if w.Path == pathMark {
				t.Errorf("a new leader writes the mark %s over %s, with no new fire", w.Value, want)
			}
		}
	}
}

func TestL2AReasonGoesWithItsReservation(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(c *jobs.Config) { c.JobName, c.ShardingTotalCount, c.CPUCount = "big", 3, 4 })
	s.job(func(c *jobs.Config) { c.JobName, c.ShardingTotalCount, c.CPUCount = "small", 1, 1 })
	s.offer("S1", 16, 8000) // seen once, so that it would fit
	s.step(s.told(cluster.Rescind{OfferID: "O1"}))
	s.step(TriggerAsked{Token: 1, Job: "big"})
	s.offer("S1", 2, 8000)
	s.until(31 * time.Second)
	s.offer("S1", 2, 8000)
	if s.core.reservation == nil {
		t.Fatal("no reservation")
	}
	s.step(TriggerAsked{Token: 2, Job: "small"})
	reason := func() string {
		x, err := s.core.Explain("small", s.now)
		if err != nil || len(x.Waiting) != 1 {
			t.Fatalf("%+v, %v", x, err)
		}
		return x.Waiting[0].Reason
	}
	if !strings.Contains(reason(), "reserved for execution big") {
		t.Fatalf("explain: %s", reason())
	}
	s.core.pool.Clear()
	s.apply(s.core.planDisableJob("big", true))
	if strings.Contains(reason(), "reserved") {
		t.Errorf("the reservation is over, explain says: %s", reason())
	}
}
