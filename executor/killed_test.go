package executor_test

import (
	"fmt"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	mesosexec "github.com/mesos/mesos-go/api/v1/lib/executor"
)

// killIn kills a task with a grace of the agent's.
func (a *fakeAgent) killIn(id string, grace time.Duration) {
	a.event(mesosexec.Event{Type: mesosexec.Event_KILL, Kill: &mesosexec.Event_Kill{
		TaskID:     mesos.TaskID{Value: id},
		KillPolicy: &mesos.KillPolicy{GracePeriod: &mesos.DurationInfo{Nanoseconds: grace.Nanoseconds()}},
	}})
}

// TestKillWhileProcessesBegin: a kill finds a task wherever it is, also while its process is being started and nobody
// has it yet. Of the tasks that are launched here some always are at that point.
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
		// Some processes have begun; others begin now.
		a.await(id(0), mesos.TASK_RUNNING)
		for i := range many {
			a.kill(id(i))
		}
		for i := range many {
			a.await(id(i), mesos.TASK_KILLED)
		}
	}
}

// TestLaterKillChangesTheGrace: who asks again for the end of a task can shorten the time that it has, as a shutdown
// of its executor does, and can't lengthen it.
func TestLaterKillChangesTheGrace(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	deaf := script(t, `trap '' TERM; echo deaf; while :; do sleep 0.01; done`)
	for _, id := range []string{"shortened", "lengthened"} {
		a.launch(taskOf(id, deaf)) // a minute of grace
		_, status := a.await(id, mesos.TASK_RUNNING)
		a.read(status.Dir + "/stdout")
	}
	a.kill("shortened")
	a.killIn("shortened", 20*time.Millisecond)
	a.await("shortened", mesos.TASK_KILLED)
	a.killIn("lengthened", 100*time.Millisecond)
	a.kill("lengthened")
	a.await("lengthened", mesos.TASK_KILLED)
}
