package executor_test

import (
	"fmt"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// TestKillWhileProcessesBegin: a kill reaches a task in any state, even while its process is being started and is not
// known yet. The test kills so many tasks that some are always in that state.
func TestKillWhileProcessesBegin(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	url := script(t, `exec sleep 1000`)
	const rounds, many = 5, 40
	for round := range rounds {
		id := func(i int) string { return fmt.Sprintf("t%d-%d", round, i) }
		for i := range many {
			a.launch(taskOf(id(i), url))
		}
		// Some processes have begun; others are just being started.
		a.await(id(0), mesos.TASK_RUNNING)
		for i := range many {
			a.kill(id(i))
		}
		for i := range many {
			a.await(id(i), mesos.TASK_KILLED)
		}
	}
}

// TestLaterKillChangesTheGrace: a second kill can shorten the grace, as a shutdown of the executor does, and can't
// lengthen it.
func TestLaterKillChangesTheGrace(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	deaf := script(t, `trap '' TERM; echo deaf; while :; do sleep 0.01; done`)
	for _, id := range []string{"shortened", "lengthened"} {
		a.launch(taskOf(id, deaf)) // its grace is a minute
		_, status := a.await(id, mesos.TASK_RUNNING)
		a.read(status.Dir + "/stdout")
	}
	a.kill("shortened")
	a.killWithin("shortened", 20*time.Millisecond)
	a.await("shortened", mesos.TASK_KILLED)
	a.killWithin("lengthened", 100*time.Millisecond)
	a.kill("lengthened")
	a.await("lengthened", mesos.TASK_KILLED)
}
