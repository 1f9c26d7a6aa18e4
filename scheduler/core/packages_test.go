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

// TestL8AHostThatHangsStopsNoOtherJob lets 80 jobs fire each second whose packages are on a host that accepts
// connections and never answers. One healthy job also fires each second. The cluster has room for about 60 shards,
// which the other jobs must not occupy for long.
func TestL8AHostThatHangsStopsNoOtherJob(t *testing.T) {
	t.Parallel()
	p := newSimulatedCluster(t, 4, resources.New(16, 64000), 81, func(i int, j *jobs.Config) {
		j.Cron, j.CPUCount = "* * * * * ?", 1
		if i > 0 {
			j.JobName, j.AppName, j.Misfire = fmt.Sprint("hangs_", i), "hanging_app", i%2 == 0
		}
	})
	p.hangingPrefix, p.taskTime = "hangs_", 10*time.Second
	lastRun, longest, tried := p.now, time.Duration(0), 0
	p.launched = func(id string) {
		if strings.HasPrefix(id, "hangs_") {
			tried++
			return
		}
		longest, lastRun = max(longest, p.now.Sub(lastRun)), p.now
	}
	p.run(10 * time.Minute)
	// At first the other jobs fill the cluster for the duration of a fetch, because its failure is not known yet. A run
	// of the healthy job takes ten seconds, too.
	if longest = max(longest, p.now.Sub(lastRun)); longest > 35*time.Second {
		t.Errorf("the healthy job had no run for %s", longest)
	}
	if limit := 64 + 20; tried > limit {
		t.Errorf("%d fetches were tried in ten minutes, want at most %d", tried, limit)
	}
	x, err := p.core.views.Explain("hangs_1")
	if err != nil || len(x.Waiting) == 0 || !strings.Contains(x.Waiting[0].Reason, "hangs:80 did not answer") {
		t.Errorf("explain shows %+v, %v", x.Waiting, err)
	}
	// The host answers again.
	p.hangingPrefix, p.taskTime = "", time.Second
	before := tried
	p.run(3 * time.Minute)
	if tried < before+200 {
		t.Errorf("only %d tasks ran in three minutes after the host answered again", tried-before)
	}
}

// TestL8AnAppThatRunsIsNotHeldUpByAnother checks that an app with a running executor is launched although the host of
// its package failed another app. The other app must wait.
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
		reason.FromText("no answer"))
	for job, waits := range map[string]bool{"my_job": false, "other": true} {
		s.accepts = nil
		s.triggerJob(job)
		s.offer("S1", 8, 8192, l[0].Executor.ID)
		if (len(s.accepts) == 0) != waits {
			t.Errorf("%s: %d ACCEPTs, want it to wait: %v", job, len(s.accepts), waits)
		}
	}
}

// TestL8WhichAppsWaitAfterAFailedFetch checks which apps wait after an app failed to fetch its package: those that
// fetch from the same host and port. If the pods of the failed app have a template, no other app waits.
func TestL8WhichAppsWaitAfterAFailedFetch(t *testing.T) {
	t.Parallel()
	plain := app.Config{AppURL: "https://h/x"}
	withTemplate := app.Config{AppURL: "https://h/x", PodTemplate: `{"spec":{"hostAliases":[]}}`}
	for name, test := range map[string]struct {
		failed, other app.Config
		unanswered    bool // the host gave a bad answer; otherwise it could not be reached
		waits         bool // the other app waits
	}{
		"the same port":              {failed: plain, other: app.Config{AppURL: "https://H:443/y"}, waits: true},
		"another port":               {failed: plain, other: app.Config{AppURL: "http://h/y"}},
		"a pod's host":               {failed: withTemplate, other: app.Config{AppURL: "https://h/y"}},
		"a pod's URL":                {failed: withTemplate, other: plain},
		"a bad answer in a pod":      {failed: withTemplate, other: plain, unanswered: true},
		"another pod":                {failed: withTemplate, other: withTemplate},
		"a bad answer outside a pod": {failed: plain, other: plain, unanswered: true, waits: true},
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
		s.update(s.startWithCPUs(8)[0], cluster.Failed, func(u *cluster.Update) { u.Status = &status })
		for job, waits := range map[string]bool{"my_job": true, "other": test.waits} {
			a := s.core.config.App(s.core.config.AppNameOf(job))
			if got := s.core.startFailures.Wait(a.Config(), "x").MustWait(); got != waits {
				t.Errorf("%s: job %s waits: %v, want %v", name, job, got, waits)
			}
		}
	}
}

// TestL8TheCauseIsShownWhileOneAppFails checks that the overview shows the cause of failed fetches while all are of
// one app. Once a second app fails, the cause is not shown.
func TestL8TheCauseIsShownWhileOneAppFails(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	a := app.Config{AppName: "one", AppURL: "http://h/x"}
	for _, shown := range []bool{true, false} {
		s.core.startFailures.RecordUnanswered(a, "run", s.now, reason.FromText("the server answers 503"))
		for _, p := range s.core.views.Facts().Problems {
			if strings.HasSuffix(p.Why.String(), ", last: the server answers 503") != shown {
				t.Errorf("with a second app %v: the problem is %s", !shown, p.Why.String())
			}
		}
		if len(s.core.views.Facts().Problems) == 0 {
			t.Error("the overview shows no problem")
		}
		a.AppName = "two"
	}
}

// TestPackageOfAnAttempt checks that a shard keeps the checksum of its attempt's package until the next attempt, also
// under another leader, and that a package that was changed on an agent is logged as a problem.
func TestPackageOfAnAttempt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.MaxRetries = 1 })
	l := s.startWithCPUs(8)
	id := s.core.executions.Ref(l[0].TaskID).Exec.ID()
	sum := func() string { return s.execution(id).Shards[0].PackageSHA256 }
	withPackage := func(sum, note string) func(*cluster.Update) {
		return func(u *cluster.Update) {
			u.Status = &wire.Status{PackageSHA256: sum, PackageNote: note, StartTime: s.now}
		}
	}
	one, two := strings.Repeat("1a", 32), strings.Repeat("2b", 32)
	for _, bad := range []string{"", "12", strings.Repeat("zz", 32), one + one} {
		if s.update(l[0], cluster.Starting, withPackage(bad, "")); sum() != "" {
			t.Errorf("%q is taken for a checksum", bad)
		}
	}
	d := s.update(l[0], cluster.Running, withPackage(one, "somebody changed it"))
	noted := slices.ContainsFunc(d.Notes, func(n step.Note) bool {
		return n.Kind == step.NotePackageChanged && n.Problem && strings.Contains(n.Detail, "somebody changed it")
	})
	if sum() != one || !noted {
		t.Errorf("the checksum is %q; notes %+v", sum(), d.Notes)
	}
	s.restart()
	if sum() != one {
		t.Errorf("under the next leader the checksum is %q", sum())
	}
	s.update(l[0], cluster.Failed, withPackage(one, "somebody changed it"))
	s.accepts = nil
	s.stepAfter(time.Minute)
	s.offer("S1", 8, 8192, l[0].Executor.ID)
	next := s.answerAccepts()
	if len(next) != 1 || sum() != "" {
		t.Fatalf("%d tasks are launched for the next attempt, with the checksum %q", len(next), sum())
	}
	s.update(next[0], cluster.Finished, withPackage(two, ""))
	if sum() != two {
		t.Errorf("the checksum of the next attempt is %q", sum())
	}
}

// TestL8OneExecutionOfEachAppTries checks that after a failed fetch only one execution of each app tries again. While
// its fetch hangs, the other executions of its app wait, but not those of another app that fetches from the same host.
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
	running := map[string]cluster.TaskLaunch{} // by job
	// trigger triggers jobs, and returns those that are launched after the pause for the failure.
	trigger := func(jobNames ...string) (launched []string) {
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
	reportRefused := func(job string) {
		s.update(running[job], cluster.Failed, func(u *cluster.Update) { u.Status = refused })
	}
	trigger("one_a")
	reportRefused("one_a")
	for _, step := range []struct {
		fails     string
		triggered []string
		want      []string
	}{
		{"", []string{"one_a", "one_b"}, []string{"one_a"}}, // its fetch hangs
		{"", []string{"two_a", "two_b"}, []string{"two_a"}}, // its fetch hangs, too
		// The next execution of the app, although the fetch of the other app still hangs.
		{"one_a", []string{"one_a"}, []string{"one_b"}},
		{"two_a", nil, []string{"two_b"}}, // launched before the last failure was known
		{"two_b", []string{"two_a", "two_b"}, []string{"two_a"}},
	} {
		if step.fails != "" {
			reportRefused(step.fails)
		}
		if got := trigger(step.triggered...); !slices.Equal(got, step.want) {
			t.Fatalf("after the failure of %q: %v are launched, want %v", step.fails, got, step.want)
		}
	}
	if x := s.explain("one_a"); !strings.Contains(x.Waiting[0].Reason, "execution one_b@") {
		t.Errorf("explain shows %+v", x.Waiting)
	}
}
