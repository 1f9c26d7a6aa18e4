package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// 200 jobs whose package's host accepts and never answers, and one healthy job each second, in a cluster with room for 60 shards.
func TestL8AHostThatHangsStopsNoOtherJob(t *testing.T) {
	t.Parallel()
	p := newPretendedCluster(t, 4, app.NewResources(16, 64000), 201, func(i int, j *jobs.Config) {
		j.Cron, j.CPUCount = "* * * * * ?", 1
		if i > 0 {
			j.JobName, j.AppName, j.Misfire = fmt.Sprint("hangs_", i), "hanging_app", i%2 == 0
		}
	})
	p.hangs, p.takes = "hangs_", 10*time.Second
	last, longest, tried := p.now, time.Duration(0), 0
	p.launched = func(id string) {
		if strings.HasPrefix(id, "hangs_") {
			tried++
			return
		}
		longest, last = max(longest, p.now.Sub(last)), p.now
	}
	p.run(10 * time.Minute)
	// What fires first fills the cluster, for as long as a fetch is given; nobody knows better then. The healthy one takes ten seconds itself.
	if longest = max(longest, p.now.Sub(last)); longest > 35*time.Second {
		t.Errorf("the healthy job had no run for %s", longest)
	}
	if most := 64 + 20; tried > most {
		t.Errorf("%d tries in ten minutes, want at most %d", tried, most)
	}
	x, err := p.core.Explain("hangs_1", p.now)
	if err != nil || len(x.Waiting) == 0 || !strings.Contains(x.Waiting[0].Reason, "hangs:80 did not answer") {
		t.Errorf("explain says %+v, %v", x.Waiting, err)
	}
	// It is back.
	p.hangs, p.takes = "", time.Second
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
	l := s.start(8)
	s.run(l)
	s.finish(l)
	s.core.unreachableHosts["127.0.0.1"] = &startTrouble{Host: "127.0.0.1", Tries: 3, Since: s.now}
	for job, waits := range map[string]bool{"my_job": false, "other": true} {
		s.accepts = nil
		s.step(TriggerAsked{Token: 1, Job: job})
		s.offer("S1", 8, 8192, l[0].Executor.ID)
		if (len(s.accepts) == 0) != waits {
			t.Errorf("%s: %d launches", job, len(s.accepts))
		}
	}
}
