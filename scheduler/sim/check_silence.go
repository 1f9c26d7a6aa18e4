package sim

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// silentFor returns for how long the leader has not heard an executor although it has a session.
func (v *watch) silentFor(executor string, now time.Duration) time.Duration {
	return now - max(v.heard[executor], v.sessionBegan)
}

// silence is how long an executor must not have been heard, a little less than in the rule because committed times are
// slightly earlier.
const silence = 3*wire.HeartbeatInterval - time.Second

// checkGivenUp checks that a task that was given up because of its executor's silence alone belongs to an executor that
// the leader has not heard for so long (rule E4).
func (c *checker) checkGivenUp(task, executor string) {
	w := c.w
	w.count(GivenUpInSilence)
	id, err := jobs.ParseTaskID(task)
	if err != nil || w.leading == nil {
		return
	}
	if silent := w.leading.watch.silentFor(executor, w.now); silent < silence {
		w.fail("E4 only silent executors are given up", "task %s of %s: its executor %s was heard %s ago", task, id.Job,
			executor, silent)
	}
}
