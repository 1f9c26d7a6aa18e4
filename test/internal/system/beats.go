package system

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/network"
)

// beat is a script that writes a line ten times a second while it runs: its fencing token, and the time in seconds
// since the machine started. A later attempt has a greater token, even in another run.
const beat = `#!/bin/sh
while [ -e "$HOLD" ]; do
	read -r now _ </proc/uptime
	echo "$ELASTICJOB_FENCING_TOKEN $now" >>"$BEATS/$ELASTICJOB_JOB_NAME"
	sleep 0.1
done
`

// Beats are jobs of one shard each, whose runs last until Finish and record when they run. The records show whether two
// attempts of a shard ran at the same time.
type Beats struct {
	m         *Machine
	dir       string // with a file of records for each job
	env       map[string]string
	release   func()
	runs      map[string]string // the last execution of each job
	exclusive map[string]bool   // by job
	reported  map[string]bool   // the overlaps that Overlaps has returned
}

// NewBeats registers the app of the jobs.
func NewBeats(m *Machine) *Beats {
	m.Helper()
	path, release := m.Hold()
	b := &Beats{m: m, dir: m.TempDir(), release: release, runs: map[string]string{}, exclusive: map[string]bool{},
		reported: map[string]bool{}}
	if err := os.Chmod(b.dir, 0o777); err != nil { // a pod runs as the user of its image
		m.Fatal(err)
	}
	b.env = map[string]string{"HOLD": path, "BEATS": b.dir}
	m.App("beats", Files{"bin/start.sh": beat}, nil)
	return b
}

// Trigger registers a job with failover and triggers it. An exclusive job's lease lasts 10 s. The shard of another job
// is lost when its machine has been unreachable for 15 s.
func (b *Beats) Trigger(job string, exclusive bool) {
	b.m.Helper()
	b.m.Job(job, "beats", Doc{"exclusive": exclusive, "leaseSeconds": 10, "killGraceSeconds": 1, "failover": true,
		"unreachableSeconds": 15, "memoryMB": 64, "env": b.env})
	b.runs[job], b.exclusive[job] = b.m.Trigger(job), exclusive
}

// AwaitRunning waits until all shards run, and returns how many run on each agent.
func (b *Beats) AwaitRunning() map[string]int {
	b.m.Helper()
	counts := map[string]int{}
	for job := range b.runs {
		counts[b.await(job, "RUNNING").Agent]++
	}
	return counts
}

// Finish ends all tasks, and waits until all shards have finished.
func (b *Beats) Finish() {
	b.m.Helper()
	b.release()
	for job := range b.runs {
		b.await(job, "FINISHED")
	}
}

// await waits until the shard of a job is in a state, and returns it. It triggers the job again if its execution ends
// in another state, as after its fifth loss, or the loss with a second silent machine (rule E2).
func (b *Beats) await(job, state string) (s Shard) {
	b.m.Helper()
	b.m.Until(job+" is "+state, func() string {
		e := b.m.Execution(b.runs[job])
		if len(e.Shards) > 0 && e.Shards[0].State == state {
			s = e.Shards[0]
			return ""
		}
		if e.HasEnded() {
			b.m.Logf("%s is %s: %s", e.ExecutionID, e.State, e.Reason)
			b.runs[job] = b.m.Trigger(job)
		}
		return fmt.Sprintf("it is %+v", e)
	})
	return s
}

// Overlap says for how long an attempt of a shard kept running after a later attempt had begun. Tokens are the fencing
// tokens of both.
type Overlap struct {
	Job, Tokens string
	Exclusive   bool
	Seconds     float64
}

func (o Overlap) String() string {
	return fmt.Sprintf("%s: the attempts with the tokens %s ran at the same time for %.2f s", o.Job, o.Tokens,
		o.Seconds)
}

// Overlaps returns the overlaps that no call has returned before. The time of an overlap counts from the first beat of
// the earlier attempt after the later one began, because the earlier attempt may have been frozen before that beat.
func (b *Beats) Overlaps() (found []Overlap) {
	b.m.Helper()
	for job := range b.runs {
		for _, o := range b.overlapsOf(job) {
			if key := o.Job + " " + o.Tokens; !b.reported[key] {
				b.reported[key] = true
				found = append(found, o)
			}
		}
	}
	return found
}

func (b *Beats) overlapsOf(job string) (found []Overlap) {
	text, err := os.ReadFile(filepath.Join(b.dir, job))
	if err != nil {
		b.m.Fatal(err)
	}
	beats := map[int][]float64{}
	for line := range strings.Lines(string(text)) {
		var token int
		var at float64
		if n, _ := fmt.Sscan(line, &token, &at); n == 2 { // else it is still being written
			beats[token] = append(beats[token], at)
		}
	}
	for earlier := range beats {
		for later := range beats {
			late := slices.DeleteFunc(slices.Clone(beats[earlier]),
				func(at float64) bool { return at <= beats[later][0] })
			if earlier < later && len(late) > 0 {
				found = append(found, Overlap{job, fmt.Sprintf("%d and %d", earlier, later), b.exclusive[job],
					late[len(late)-1] - late[0] + 0.1})
			}
		}
	}
	return found
}

// Partition is a way to cut a machine off.
type Partition struct {
	// Name says what is cut off from what, such as "its agent from the master".
	Name string
	// Cut cuts off the machine of an agent. The caller heals the machine's network.
	Cut func(agent string)
}

// Storm cuts a machine with tasks off for 5 to 45 s in each round. machines are the machines' networks by agent. The
// ways are used in turn. After each round Storm calls awaitRecovery and waits until all shards run. Two attempts of an
// exclusive job's shard must never run at the same time. Those of other jobs may, as documented; Storm logs it.
func (b *Beats) Storm(rounds int, machines map[string]*network.Network, ways []Partition, awaitRecovery func()) {
	b.m.Helper()
	for round := range rounds {
		before := b.AwaitRunning()
		busy := slices.DeleteFunc(slices.Sorted(maps.Keys(machines)),
			func(agent string) bool { return before[agent] == 0 })
		if len(busy) == 0 {
			b.m.Fatalf("tasks run on %v, and none on %v", before, slices.Collect(maps.Keys(machines)))
		}
		agent := busy[rand.IntN(len(busy))]
		way, pause := ways[round%len(ways)], time.Duration(5_000+rand.IntN(40_000))*time.Millisecond
		way.Cut(agent)
		time.Sleep(pause)
		machines[agent].Heal()
		awaitRecovery()
		for agent := range machines { // an agent that flaps may have been cordoned
			b.m.OK("POST", "/api/agent/"+agent+"/uncordon", "")
		}
		after := b.AwaitRunning()
		for _, o := range b.Overlaps() {
			if o.Exclusive {
				b.m.Errorf("%v", o)
			} else {
				b.m.Logf("%v, as documented", o)
			}
		}
		b.m.Logf("%d: %s was cut off, %s, for %s; tasks ran on %v, then on %v", round, agent, way.Name,
			pause.Round(time.Second), before, after)
	}
	b.Finish()
}
