package scheduler_test

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler"
)

// The log says what people have changed, and nothing of what was refused.
func TestTheLogTellsWhatPeopleChange(t *testing.T) {
	t.Parallel()
	log := &logged{}
	l := leadWith(t, &fakeCluster{}, scheduler.Options{Logger: log.logger()})
	l.publish(t)
	ctx := t.Context()
	same := func(c jobs.Config) (jobs.Config, error) { return c, nil }
	_, _ = l.UpdateJob(ctx, "my_job", same)
	_, _ = l.UpdateJob(ctx, "none", same)
	_, _ = l.SetJobDisabled(ctx, "my_job", true)
	_, _ = l.SetJobDisabled(ctx, "my_job", false)
	_, _ = l.SetAppDisabled(ctx, "my_app", true)
	_, _ = l.DeleteApp(ctx, "my_app", false) // it has a job
	_, _ = l.DeregisterJob(ctx, "my_job")
	_, _ = l.DeregisterJob(ctx, "my_job")
	_, _ = l.DeleteApp(ctx, "my_app", false)
	for _, line := range []string{
		`msg="app registered" app=my_app`, `msg="job registered" job=my_job`, `msg="job updated" job=my_job`, `msg="job disabled" job=my_job`, `msg="job enabled" job=my_job`,
		`msg="app disabled" app=my_app`, `msg="job deregistered" job=my_job`, `msg="app deleted" app=my_app`,
	} {
		if n := log.count(line); n != 1 {
			t.Errorf("%s: %d times", line, n)
		}
	}
	if log.has("job=none") {
		t.Error("a change that was refused is logged as made")
	}
}
