package core

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// TestHeldLaunchesNothing checks a term with held launches. It says why nothing is launched, and names the jobs with
// the largest settings, those with a waiting run first. It holds no offers, completes running executions, and lets
// users disable jobs. The next term launches again.
func TestHeldLaunchesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	for name, parameter := range map[string]int{"small": 10, "large": 60_000, "largest": 65_000, "idle": 65_000} {
		s.job(func(j *jobs.Config) {
			j.JobName, j.JobParameter, j.ShardingTotalCount = name, strings.Repeat("x", parameter), 4
		})
	}
	s.job(oneShard)
	launched := s.startWithCPUs(8)
	s.reportRunning(launched)
	for _, name := range []string{"small", "large", "largest"} {
		s.triggerJob(name)
	}
	s.opt.Held = "this server was killed"
	s.restart()
	held := s.core.views.Held()
	if !strings.HasPrefix(held, "nothing is launched: this server was killed; disable the job") ||
		!strings.Contains(held, "then restart the server") ||
		!strings.HasSuffix(held, "with the largest settings: largest (4 shards, 64 KiB each, 255 KiB together, with a waiting run), "+
			"large (4 shards, 59 KiB each, 236 KiB together, with a waiting run), small (4 shards, 1 KiB each, 1 KiB together, with a waiting run)") {
		t.Errorf("Held returns %s", held)
	}
	s.offer("S2", 64, 64000)
	s.runFor(time.Minute)
	if len(s.accepts) > 0 || s.core.placement.Held().Len() > 0 {
		t.Errorf("while launches are held, %d ACCEPTs and %d held offers", len(s.accepts),
			s.core.placement.Held().Len())
	}
	if x := s.explain("largest"); len(x.Waiting) == 0 || !strings.HasPrefix(held, x.Waiting[0].Reason) ||
		strings.Contains(x.Waiting[0].Reason, "small") {
		t.Errorf("explain shows %+v", x.Waiting)
	}
	s.update(launched[0], cluster.Finished)
	if x := s.explain("my_job"); x.LastRun == nil || x.LastRun.State != executions.Finished {
		t.Errorf("the run that was launched before is shown as %+v", x.LastRun)
	}
	s.apply(s.core.planDisableJob("largest", true))
	s.opt.Held = ""
	s.restart()
	s.offer("S2", 64, 64000)
	if got := s.answerAccepts(); len(got) != 8 || s.core.views.Held() != "" {
		t.Errorf("the next term launches %d tasks, want 8; Held returns %q", len(got), s.core.views.Held())
	}
}
