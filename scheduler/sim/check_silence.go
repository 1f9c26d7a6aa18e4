package sim

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// silentFor returns for how long the leader has not heard an executor in the present session.
func (v *watch) silentFor(executor string, now time.Duration) time.Duration {
	return now - max(v.heard[executor], v.sessionBegan)
}

// silence is for how long an executor must be silent before its tasks are abandoned. It is a little less than in the
// rule, because committed times are slightly earlier.
const silence = 3*wire.HeartbeatInterval - time.Second

// checkGivenUp checks, when a task was abandoned because of its executor's silence alone, that the leader has not heard
// the executor for as long as rule E4 requires.
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
