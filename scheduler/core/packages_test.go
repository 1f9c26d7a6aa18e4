package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// The host of 200 jobs' packages accepts connections and never answers. One healthy job fires each second, in a
// cluster with room for 60 shards.
func TestL8AHostThatHangsStopsNoOtherJob(t *testing.T) {
	t.Parallel()
	p := newSimulatedCluster(t, 4, resources.New(16, 64000), 81, func(i int, j *jobs.Config) {
		j.Cron, j.CPUCount = "* * * * * ?", 1
		if i > 0 {
			j.JobName, j.AppName, j.Misfire = fmt.Sprint("hangs_", i), "hanging_app", i%2 == 0
		}
	})
	p.hangingPrefix, p.taskTime = "hangs_", 10*time.Second
	last, longest, tried := p.now, time.Duration(0), 0
	p.launched = func(id string) {
		if strings.HasPrefix(id, "hangs_") {
			tried++
			return
		}
		longest, last = max(longest, p.now.Sub(last)), p.now
	}
	p.run(10 * time.Minute)
	// The first fires fill the cluster for the duration of a fetch, because the failure is not known yet. The healthy
	// job takes ten seconds itself.
	if longest = max(longest, p.now.Sub(last)); longest > 35*time.Second {
		t.Errorf("the healthy job had no run for %s", longest)
	}
	if largest := 64 + 20; tried > largest {
		t.Errorf("%d tries in ten minutes, want at most %d", tried, largest)
	}
	x, err := p.core.views.Explain("hangs_1")
	if err != nil || len(x.Waiting) == 0 || !strings.Contains(x.Waiting[0].Reason, "hangs:80 did not answer") {
		t.Errorf("explain says %+v, %v", x.Waiting, err)
	}
	// The host is back.
	p.hangingPrefix, p.taskTime = "", time.Second
	before := tried
	p.run(3 * time.Minute)
	if tried < before+200 {
		t.Errorf("%d tasks ran in the three minutes after the host came back", tried-before)
	}
}

// A package that agents have in their caches needs no host.
func TestL8AnAppThatRunsIsNotHeldUpByAnother(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.app(func(a *app.Config) { a.AppName = "other_app" })
	s.job(oneShard)
	s.job(oneShard, func(j *jobs.Config) { j.JobName, j.AppName = "other", "other_app" })
	l := s.startWithCPUs(8)
	s.reportRunning(l)
	s.reportFinished(l)
	s.core.startFailures.RecordUnreachable(*s.core.config.App("other_app").Config(), "other@1", s.now,
		reason.FromText("nobody answers"))
	for job, waits := range map[string]bool{"my_job": false, "other": true} {
		s.accepts = nil
		s.triggerJob(job)
		s.offer("S1", 8, 8192, l[0].Executor.ID)
		if (len(s.accepts) == 0) != waits {
			t.Errorf("%s: %d launches", job, len(s.accepts))
		}
	}
}

// TestL8WhomAFailureHolds: a failure of one app applies to the apps that fetch from the same host and port; if its
// pods have a template, to no other app.
func TestL8WhomAFailureHolds(t *testing.T) {
	t.Parallel()
	hosts := app.Config{AppURL: "https://h/x", PodTemplate: `{"spec":{"hostAliases":[]}}`}
	for name, test := range map[string]struct {
		failed, other app.Config
		unanswered    bool
		waits         bool
	}{
		"the same port":              {failed: app.Config{AppURL: "https://h/x"}, other: app.Config{AppURL: "https://H:443/y"}, waits: true},
		"another port":               {failed: app.Config{AppURL: "https://h/x"}, other: app.Config{AppURL: "http://h/y"}},
		"a pod's host":               {failed: hosts, other: app.Config{AppURL: "https://h/y"}},
		"a pod's URL":                {failed: hosts, other: app.Config{AppURL: "https://h/x"}},
		"a bad answer in a pod":      {failed: hosts, other: app.Config{AppURL: "https://h/x"}, unanswered: true},
		"another pod":                {failed: hosts, other: hosts},
		"a bad answer outside a pod": {failed: app.Config{AppURL: "https://h/x"}, other: app.Config{AppURL: "https://h/x"}, unanswered: true, waits: true},
	} {
		s := newStage(t)
		s.app(func(a *app.Config) { a.AppURL, a.PodTemplate = test.failed.AppURL, test.failed.PodTemplate })
		s.app(func(a *app.Config) {
			a.AppName, a.AppURL, a.PodTemplate = "other_app", test.other.AppURL, test.other.PodTemplate
		})
		s.job(oneShard)
		s.job(oneShard, func(j *jobs.Config) { j.JobName, j.AppName = "other", "other_app" })
		status := wire.Status{Cause: "refused", Unanswered: test.unanswered}
		if !test.unanswered {
			status.Unreachable = wire.HostPort(test.failed.AppURL)
		}
		data := &status
		s.update(s.startWithCPUs(8)[0], cluster.Failed, func(u *cluster.Update) { u.Status = data })
		for job, waits := range map[string]bool{"my_job": true, "other": test.waits} {
			a := s.core.config.App(s.core.config.AppNameOf(job))
			if got := s.core.startFailures.Wait(a.Config(), "x").MustWait(); got != waits {
				t.Errorf("%s: %s waits: %v", name, job, got)
			}
		}
	}
}

// TestL8TheCauseIsShownOfOneApp: the overview shows why a package has no good answer, unless a run of another app said
// so.
func TestL8TheCauseIsShownOfOneApp(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	a := app.Config{AppName: "one", AppURL: "http://h/x"}
	for _, shown := range []bool{true, false} {
		s.core.startFailures.RecordUnanswered(a, "run", s.now, reason.FromText("the server answers 503"))
		for _, trouble := range s.core.views.Facts().Problems {
			if strings.HasSuffix(trouble.Why.String(), ", last: the server answers 503") != shown {
				t.Errorf("with a second app %v: %s", !shown, trouble.Why.String())
			}
		}
		if len(s.core.views.Facts().Problems) == 0 {
			t.Error("no trouble")
		}
		a.AppName = "two"
	}
}

// TestPackageOfAnAttempt: the package of an attempt is kept with its shard, across a change of leader, until the next
// attempt; and a package that was changed on an agent is noted.
func TestPackageOfAnAttempt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.MaxRetries = 1 })
	l := s.startWithCPUs(8)
	id := s.core.executions.Ref(l[0].TaskID).Exec.ID()
	sum := func() string { return s.execution(id).Shards[0].PackageSHA256 }
	with := func(sum, note string) func(*cluster.Update) {
		return func(u *cluster.Update) {
			u.Status = &(wire.Status{PackageSHA256: sum, PackageNote: note, StartTime: s.now})
		}
	}
	one, two := strings.Repeat("1a", 32), strings.Repeat("2b", 32)
	for _, bad := range []string{"", "12", strings.Repeat("zz", 32), one + one} {
		if s.update(l[0], cluster.Starting, with(bad, "")); sum() != "" {
			t.Errorf("took %q for a sum", bad)
		}
	}
	d := s.update(l[0], cluster.Running, with(one, "somebody changed it"))
	noted := slices.ContainsFunc(d.Notes, func(n step.Note) bool {
		return n.Kind == step.NotePackageChanged && n.Problem && strings.Contains(n.Detail, "somebody changed it")
	})
	if sum() != one || !noted {
		t.Errorf("the sum is %q; notes %+v", sum(), d.Notes)
	}
	s.restart()
	if sum() != one {
		t.Errorf("the next leader knows %q", sum())
	}
	s.update(l[0], cluster.Failed, with(one, "somebody changed it"))
	s.accepts = nil
	s.stepAfter(time.Minute)
	s.offer("S1", 8, 8192, l[0].Executor.ID)
	next := s.answerAccepts()
	if len(next) != 1 || sum() != "" {
		t.Fatalf("launched %d, with %q", len(next), sum())
	}
	s.update(next[0], cluster.Finished, with(two, ""))
	if sum() != two {
		t.Errorf("the sum is %q", sum())
	}
}

// TestL8OneExecutionOfEachAppTries: an execution whose fetch hangs delays those of its own app, and no other app that
// fetches from the same host.
func TestL8OneExecutionOfEachAppTries(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, name := range []string{"one", "two"} {
		s.app(func(a *app.Config) { a.AppName = name })
		for _, job := range []string{name + "_a", name + "_b"} {
			s.job(oneShard, func(j *jobs.Config) { j.JobName, j.AppName = job, name })
		}
	}
	refused := &wire.Status{Cause: "refused", Unreachable: "127.0.0.1:80"}
	// tries triggers jobs, and returns those that are launched once the pause has passed.
	running := map[string]cluster.TaskLaunch{}
	tries := func(jobNames ...string) (launched []string) {
		for _, job := range jobNames {
			s.triggerJob(job)
		}
		s.runFor(2 * time.Minute)
		s.offer("S1", 8, 8192)
		for _, l := range s.answerAccepts() {
			id, _ := jobs.ParseTaskID(l.TaskID)
			running[id.Job] = l
			launched = append(launched, id.Job)
		}
		slices.Sort(launched)
		return launched
	}
	fails := func(job string) {
		s.update(running[job], cluster.Failed, func(u *cluster.Update) { u.Status = refused })
	}
	tries("one_a")
	fails("one_a")
	for _, step := range []struct {
		fails     string
		triggered []string
		want      []string
	}{
		{"", []string{"one_a", "one_b"}, []string{"one_a"}}, // which hangs
		{"", []string{"two_a", "two_b"}, []string{"two_a"}}, // which hangs, too
		// The next of its app, although the other app's fetch still hangs.
		{"one_a", []string{"one_a"}, []string{"one_b"}},
		{"two_a", nil, []string{"two_b"}}, // launched before the last failure was known
		{"two_b", []string{"two_a", "two_b"}, []string{"two_a"}},
	} {
		if step.fails != "" {
			fails(step.fails)
		}
		if got := tries(step.triggered...); !slices.Equal(got, step.want) {
			t.Fatalf("after %q: %v are launched, want %v", step.fails, got, step.want)
		}
	}
	if x := s.explain("one_a"); !strings.Contains(x.Waiting[0].Reason, "execution one_b@") {
		t.Errorf("%+v", x.Waiting)
	}
}
