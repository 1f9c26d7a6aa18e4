package sim

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// checker mirrors the committed state, lists the running processes, and reports broken invariants.
type checker struct {
	w              *world
	execs          map[string]*execRecord // in the registry
	early          map[string]*execRecord // shards of executions whose own record is not known yet
	parts          shardReader
	ever           map[string]bool // all executions so far
	jobs           map[string]*jobMirror
	live           map[string]string        // tasks that are committed as launching or running → execution
	orphans        map[string]string        // → agent
	silentOrphans  map[string]string        // orphans that were abandoned because their executor was silent → executor
	everSilent     map[string]bool          // orphans that were once among silentOrphans
	besideSilent   map[[2]string]bool       // a launched task, and an orphan of its shard that was silent at that time
	removedBy      map[string]string        // orphans of removed frameworks → the master that removed the framework
	seenAlive      map[string]bool          // orphans that block because they were seen alive
	alive          map[string]int64         // orphans that were reported alive to a leader, and its term
	staged         map[string]time.Duration // tasks for which leaders have received only STAGING → since when
	executors      map[string]bool          // → whether the executor is closing
	endedExecutors map[string]bool          // executors whose end was committed or reported
	infos          map[string]cluster.Executor
	endNoted       map[string]bool     // executions whose end the history has
	untold         map[string][]string // failed executions without a notification, by job
	mustTell       []string            // jobs with a failure in the present commit

	cursor     time.Time
	decidedAt  time.Time // the wall clock at the step of the last commit
	running    map[shardOf][]*process
	tokens     map[shardOf]lastToken    // the last fencing token of each shard
	ofOriginal map[*process]bool        // processes that ElasticJob-Cloud, the original, left running
	kills      map[string]wantedKill    // by task
	waits      map[string]time.Duration // since when executions wait in a crowded, calm world
	liveSince  map[string]time.Duration // since when each task has been live
	longest    time.Duration            // longest time that a task was live
	lastEnd    time.Duration            // when an execution last ended
	begunOff   []begun                  // executions that began in the present commit while their job was off

	runs map[string]runsRecord // of shards of daemons, by job@item
	cut  map[string]wire.Run   // fires whose run was cut off and must be repeated
}

// wantedKill is a kill of a task that its executor must answer.
type wantedKill struct {
	executor string
	since    time.Duration
	grace    time.Duration
}

// shardOf identifies a shard of a job, in any execution.
type shardOf struct {
	job  string
	item int
}

func newChecker(w *world) *checker {
	return &checker{w: w, execs: map[string]*execRecord{}, early: map[string]*execRecord{}, parts: shardReader{},
		ever: map[string]bool{}, jobs: map[string]*jobMirror{}, live: map[string]string{},
		orphans: map[string]string{}, silentOrphans: map[string]string{},
		everSilent: map[string]bool{}, besideSilent: map[[2]string]bool{}, removedBy: map[string]string{}, alive: map[string]int64{},
		seenAlive: map[string]bool{}, staged: map[string]time.Duration{}, executors: map[string]bool{},
		endedExecutors: map[string]bool{}, infos: map[string]cluster.Executor{},
		liveSince: map[string]time.Duration{}, untold: map[string][]string{}, endNoted: map[string]bool{},
		runs: map[string]runsRecord{}, cut: map[string]wire.Run{},
		running: map[shardOf][]*process{}, tokens: map[shardOf]lastToken{}, kills: map[string]wantedKill{},
		ofOriginal: map[*process]bool{}}
}
