package executor_test

import (
	"fmt"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	mesosexec "github.com/mesos/mesos-go/api/v1/lib/executor"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// everySecond is a cron expression for a fire every second.
const everySecond = "* * * * * ?"

// daemonOf returns a daemon's shard that fires every second.
func daemonOf(id, url string) wire.Task {
	task := taskOf(id, url)
	task.Source, task.FireTime, task.ExecutionID, task.Attempt = "NORMAL_TRIGGER", time.Time{}, "standing", 1
	task.Daemon = &wire.Daemon{Cron: everySecond, TimeZone: "UTC"}
	return task
}

// residentScript writes a resident process in shell. body is executed for each run, with the run's id in $run and
// the message in $line; it may set error.
func residentScript(t testing.TB, body string) string {
	return script(t, `say() { printf '%s\n' "$1" >&4; }
say '{"type":"hello","version":1,"sdk":"sh"}'
while read -r line <&3; do
	run=${line#*\"run\":\"}; run=${run%%\"*}; error=
	case $line in *'"type":"run"'*) ;; *) continue ;; esac
	`+body+`
	say "{\"type\":\"done\",\"run\":\"$run\",\"error\":\"$error\"}"
done`)
}

// runUpdate is an update about a run.
type runUpdate struct {
	wire.Run
	totals  wire.Totals
	message string
}

// runs returns the reported runs of a task. The caller holds mu.
func (a *fakeAgent) runs(id string) []runUpdate {
	var list []runUpdate
	for _, u := range a.statesOf(id) {
		if status, ok := wire.DecodeStatus(u.Data); ok && status.Run != nil && status.Totals != nil {
			list = append(list, runUpdate{*status.Run, *status.Totals, u.GetMessage()})
		}
	}
	return list
}

// awaitRuns waits until count runs were reported in a state, and returns them.
func (a *fakeAgent) awaitRuns(id, state string, count int) (found []runUpdate) {
	a.t.Helper()
	a.until(fmt.Sprintf("%d runs %s of %s", count, state, id), func() bool {
		found = nil
		for _, r := range a.runs(id) {
			if r.State == state {
				found = append(found, r)
			}
		}
		for _, u := range a.statesOf(id) {
			if u.GetState() == mesos.TASK_FAILED {
				a.t.Fatalf("task %s failed: %s", id, u.GetMessage())
			}
		}
		return len(found) >= count
	})
	return found
}

// killWithin kills a task with a grace period from the agent.
func (a *fakeAgent) killWithin(id string, grace time.Duration) {
	a.event(mesosexec.Event{Type: mesosexec.Event_KILL, Kill: &mesosexec.Event_Kill{
		TaskID:     mesos.TaskID{Value: id},
		KillPolicy: &mesos.KillPolicy{GracePeriod: &mesos.DurationInfo{Nanoseconds: int64(grace)}},
	}})
}
