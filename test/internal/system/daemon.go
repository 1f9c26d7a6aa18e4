package system

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// daemonScript is one run of a daemon's shard. It records itself when it starts, and waits until the file $HOLD is
// removed.
const daemonScript = `#!/bin/sh
exec 9>"$RUNS.$ELASTICJOB_SHARDING_ITEM"
flock -n 9 || echo "overlap - - - - -" >>"$RUNS"
echo "$ELASTICJOB_EXECUTION_ID $ELASTICJOB_SHARDING_ITEM $ELASTICJOB_FIRE_TIME $ELASTICJOB_EXECUTION_SOURCE $ELASTICJOB_TASK_ID ${ELASTICJOB_JOB_PARAMETER:--}" >>"$RUNS"
if [ -n "$HOLD" ]; then while [ -e "$HOLD" ]; do sleep 0.1; done; fi
`

// Daemon is a daemon job whose runs record themselves.
type Daemon struct {
	*Machine
	job, ledger string
}

// DaemonRun is a run that a process has recorded.
type DaemonRun struct{ Execution, Item, Fire, Source, Task, Parameter string }

// Daemon registers a daemon job of one small shard that fires each second, with an app of its own. fields override
// the defaults.
func (m *Machine) Daemon(name string, fields Doc) *Daemon {
	m.Helper()
	d := &Daemon{Machine: m, job: name, ledger: m.LedgerPath + "." + name}
	m.App(name, Files{"bin/start.sh": daemonScript}, nil)
	env := map[string]string{"RUNS": d.ledger}
	if more, ok := fields["env"].(map[string]string); ok {
		maps.Copy(env, more)
	}
	m.Job(name, name, Doc{"jobExecutionType": "DAEMON", "cron": "* * * * * ?"}.with(fields).with(Doc{"env": env}))
	return d
}

// Runs returns all recorded runs.
func (d *Daemon) Runs() []DaemonRun {
	d.Helper()
	text, err := os.ReadFile(d.ledger)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.Fatal(err)
	}
	var all []DaemonRun
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); strings.HasSuffix(line, "\n") && len(f) == 6 {
			all = append(all, DaemonRun{f[0], f[1], f[2], f[3], f[4], f[5]})
		}
	}
	return all
}

// AwaitRuns waits until each shard has n runs that satisfy wanted, and returns those runs. With nil, all runs count.
func (d *Daemon) AwaitRuns(n int, wanted func(DaemonRun) bool) []DaemonRun {
	d.Helper()
	var runs []DaemonRun
	var job struct{ ShardingTotalCount int }
	d.Get("/api/job/jobs/"+d.job, &job)
	d.Until(fmt.Sprintf("each shard of %s has run %d times", d.job, n), func() string {
		runs = nil
		counts := map[string]int{}
		for _, r := range d.Runs() {
			if wanted == nil || wanted(r) {
				runs = append(runs, r)
				counts[r.Item]++
			}
		}
		for item := range job.ShardingTotalCount {
			if counts[fmt.Sprint(item)] < n {
				return fmt.Sprintf("they ran %v; %+v", counts, d.Explain(d.job))
			}
		}
		return ""
	})
	return runs
}

// AwaitFires waits for the times of the next n fires of a cron that fires each second.
func (d *Daemon) AwaitFires(n int) {
	d.Helper()
	last := time.Now().Truncate(time.Second).Add(time.Duration(n) * time.Second)
	d.Until(fmt.Sprintf("%d fires have passed", n), func() string {
		if left := time.Until(last); left > 0 {
			return fmt.Sprintf("the last is due in %s", left)
		}
		return ""
	})
}

// EachFireOnce checks that no shard ran twice for a fire, and that no two runs of a shard overlapped.
func (d *Daemon) EachFireOnce() { d.Helper(); d.EachFireOnceBut(nil) }

// EachFireOnceBut is EachFireOnce, but ignores runs that were interrupted.
func (d *Daemon) EachFireOnceBut(interrupted []DaemonRun) {
	d.Helper()
	seen := map[DaemonRun]bool{}
	for _, r := range d.Runs() {
		if slices.Contains(interrupted, r) {
			continue
		}
		key := DaemonRun{Item: r.Item, Fire: r.Fire}
		if r.Execution == "overlap" {
			d.Error("a run began while another run of its shard was in progress")
		} else if seen[key] {
			d.Errorf("%+v ran twice", r)
		}
		seen[key] = true
	}
}

// Standing waits until the daemon's standing execution is its only running one, and returns it.
func (d *Daemon) Standing() Execution {
	d.Helper()
	var running []Execution
	d.Until("there is a standing execution of "+d.job, func() string {
		running = nil
		for _, id := range d.executionIDs("RUNNING") {
			running = append(running, d.Execution(id))
		}
		if len(running) != 1 || running[0].Source != "DAEMON" {
			return fmt.Sprintf("%+v; %+v", running, d.Explain(d.job))
		}
		return ""
	})
	return running[0]
}

// executionIDs returns the ids of the job's executions in a state.
func (d *Daemon) executionIDs(state string) (ids []string) {
	d.Helper()
	var list []struct{ ExecutionID string }
	d.Get("/api/job/"+d.job+"/executions?state="+state, &list)
	for _, e := range list {
		ids = append(ids, e.ExecutionID)
	}
	return ids
}
