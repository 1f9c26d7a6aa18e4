package whole_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestDaemon: a daemon of plain scripts runs each fire of each shard once, in shards that stay between fires. A killed
// shard is placed again, changed settings reach the shards, and disabling the job ends them.
func TestDaemon(t *testing.T) {
	m := start(t)
	d := m.Daemon("tick", system.Doc{"shardingTotalCount": 2, "jobParameter": "old"})
	d.AwaitRuns(3, nil)
	first := d.Standing()
	for _, s := range first.Shards {
		if s.State != "RUNNING" || s.Daemon == nil || s.Daemon.NextFireTime == nil || s.Daemon.LastRun == nil ||
			s.Daemon.LastRun.State != "FINISHED" || s.Daemon.Failed != 0 {
			t.Errorf("%+v, %+v: want it running, with its last run and the next fire", s, s.Daemon)
		}
	}
	m.Refused(409, "daemon_trigger", "POST", "/api/job/tick/trigger", "")

	killed := first.Shards[0].TaskID
	m.OK("POST", "/api/task/"+killed+"/kill", "")
	m.Until("the killed shard is placed again", func() string {
		if s := d.Standing().Shards[0]; s.TaskID == killed || s.State != "RUNNING" {
			return fmt.Sprintf("%+v", s)
		}
		return ""
	})

	m.Update("tick", system.Doc{"jobParameter": "new"})
	d.AwaitRuns(2, func(r system.DaemonRun) bool { return r.Parameter == "new" })
	if after := d.Standing(); after.ExecutionID != first.ExecutionID {
		t.Errorf("the execution is %s after the change, %s before", after.ExecutionID, first.ExecutionID)
	}
	d.EachFireOnce()

	m.OK("POST", "/api/job/tick/disable", "")
	m.Await(first.ExecutionID, "KILLED")
	m.OK("POST", "/api/job/tick/enable", "")
	d.AwaitRuns(1, func(r system.DaemonRun) bool {
		return r.Execution != "" && r.Task != killed && d.Standing().ExecutionID != first.ExecutionID
	})
	m.OK("DELETE", "/api/job/tick/deregister", "")
	m.Until("no task of the daemon is left", func() string {
		if running := strings.TrimSpace(m.OK("GET", "/api/job/tasks/running", "")); running != "[]" {
			return running
		}
		return ""
	})
	d.EachFireOnce()
}

// TestDaemonRunIsInterrupted kills an executor during a run. Only with failover the fire is run again.
func TestDaemonRunIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, failover := range []bool{true, false} {
		t.Run(fmt.Sprint(failover), func(t *testing.T) {
			m := start(t)
			hold, release := m.Hold()
			d := m.Daemon("long", system.Doc{"failover": failover, "misfire": true,
				"env": map[string]string{"HOLD": hold}})
			interrupted := d.AwaitRuns(1, nil)[0]
			m.Until("the run is reported", func() string {
				if s := d.Standing().Shards[0]; s.Daemon == nil || s.Daemon.Running == nil {
					return fmt.Sprintf("%+v", s)
				}
				return ""
			})
			for _, pid := range m.Executors() {
				m.KillProcess(pid)
			}
			release()
			later := d.AwaitRuns(2, func(r system.DaemonRun) bool { return r.Task != interrupted.Task })
			repeats := 0
			for _, r := range later {
				if r.Fire == interrupted.Fire {
					repeats++
					if r.Source != "FAILOVER" {
						t.Errorf("%+v: want the source FAILOVER", r)
					}
				}
			}
			if want := map[bool]int{true: 1}[failover]; repeats != want {
				t.Errorf("the interrupted fire was repeated %d times, want %d: %+v", repeats, want, later)
			}
		})
	}
}

// TestDaemonMisfire: fires that find the shard running wait if the job has misfire. Otherwise they are dropped and
// counted.
func TestDaemonMisfire(t *testing.T) {
	t.Parallel()
	for _, misfire := range []bool{true, false} {
		t.Run(fmt.Sprint(misfire), func(t *testing.T) {
			m := start(t)
			hold, release := m.Hold()
			d := m.Daemon("long", system.Doc{"misfire": misfire, "env": map[string]string{"HOLD": hold}})
			d.AwaitRuns(1, nil)
			d.AwaitFires(4)
			release()
			runs := d.AwaitRuns(4, nil)
			late := 0
			for _, r := range runs {
				if r.Source == "MISFIRE" {
					late++
				}
			}
			if misfire && late < 2 || !misfire && late > 0 {
				t.Errorf("%d late fires of %+v were run", late, runs)
			}
			if misfire {
				d.EachFireOnce()
				return
			}
			m.Until("the dropped fires are counted", func() string {
				if x := m.Explain("long"); x.DroppedFires == nil || x.DroppedFires.Count < 2 {
					return fmt.Sprintf("%+v", x)
				}
				return ""
			})
		})
	}
}
