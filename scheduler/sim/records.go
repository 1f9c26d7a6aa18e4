package sim

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/jobs/cron"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// Paths at which the core stores what the checks read. They read the committed state, as the next leader does, not the
// core's memory.
const (
	pathApps         = "/config/app"
	pathJobs         = "/config/job"
	pathAppDisabled  = "/state/disable/app"
	pathJobDisabled  = "/state/disable/job"
	pathJobState     = "/scheduler/job"
	pathExecution    = "/scheduler/execution"
	pathShards       = "/scheduler/shards"
	pathExecutor     = "/scheduler/executor"
	pathMachine      = "/scheduler/machine"
	pathOrphan       = "/scheduler/orphan"
	pathCursor       = "/scheduler/fire-cursor"
	pathLeaps        = "/scheduler/fire-leaps"
	pathMadeUp       = "/scheduler/fires-made-up"
	pathNotification = "/scheduler/notification"
	pathDaemonRuns   = "/scheduler/daemon-runs"
)

// record is a committed execution.
type record struct {
	ID       string    `json:"id"`
	Job      string    `json:"job"`
	Made     time.Time `json:"made"`
	Source   string    `json:"source"`
	Settings *struct {
		Job struct {
			Failover           bool `json:"failover"`
			ShardingTotalCount int  `json:"shardingTotalCount"`
			MaxRetries         int  `json:"maxRetries"`
			TimeoutSeconds     int  `json:"timeoutSeconds"`
			KillGraceSeconds   int  `json:"killGraceSeconds"`
		} `json:"job"`
		App struct {
			AppName string `json:"appName"`
		} `json:"app"`
	} `json:"settings"`
	Shards []shardRecord `json:"shards"`
	Chunks int           `json:"chunks"`
	Kill   reason.Reason `json:"killReason"`
	Ended  int64         `json:"ended"`
	// Reopened counts how often it had ended and was opened again.
	Reopened int `json:"reopened"`
}

type shardRecord struct {
	Item   int              `json:"i"`
	State  executions.State `json:"s"`
	TaskID string           `json:"t"`
	Cause  reason.Reason    `json:"ca"`

	Executor  string    `json:"x"`
	KillSince time.Time `json:"ks"`
	// Grace is the grace of a daemon's attempt.
	Grace time.Duration `json:"gr"`
	// Kill is set when the task alone was killed.
	Kill reason.Reason `json:"kr"`
	// Replacing is set while a daemon's shard is brought to new settings.
	Replacing bool `json:"rp"`

	Type      executions.Source `json:"y"`
	NotBefore time.Time         `json:"nb"`
	Fails     int               `json:"nf"`
	// RunningAt and TimedOut belong to rule K4.
	RunningAt time.Time `json:"ra"`
	TimedOut  bool      `json:"to"`
	// Start is when its process began.
	Start time.Time `json:"st"`
	// Returns counts how often the present attempt was abandoned and taken back. GivenUp is the abandoned attempt that
	// may be taken back.
	Returns int `json:"rt"`
	GivenUp *struct {
		TaskID  string `json:"t"`
		Returns int    `json:"rt"`
	} `json:"gu"`
}

// returned reports whether a shard has taken back its abandoned attempt. In the same commit that attempt may have
// ended, or may have been abandoned again.
func returned(was, now shardRecord) bool {
	if was.GivenUp == nil || was.State == executions.Waiting && now.TaskID != was.GivenUp.TaskID {
		return false // no attempt was abandoned, or the shard was launched again
	}
	return now.GivenUp == nil || now.GivenUp.Returns > was.GivenUp.Returns
}

func (r *record) daemon() bool { return r.Source == string(executions.DaemonSource) }

// failover reports whether the execution may have two attempts of a shard while one is unreachable.
func (r *record) failover() bool { return r.daemon() || r.Settings != nil && r.Settings.Job.Failover }

func terminal(s executions.State) bool {
	return s == executions.Finished || s == executions.Failed || s == executions.Killed || s == executions.Lost ||
		s == executions.TimedOut
}

func live(s executions.State) bool { return s == executions.Launching || s == executions.Running }

// execRecord is a committed execution, with what the checker has observed about it.
type execRecord struct {
	record
	since  time.Duration // when it was first committed, in the world's time
	chunks map[string][]shardRecord
	done   map[int]bool     // items that were committed as finished
	begun  map[int]*process // the newest process of each item
	killed bool             // a requester was told that it is killed
	// failedOver is set if it had failover in the last commit but one.
	failedOver bool
}

func newExecRecord(id string) *execRecord {
	return &execRecord{record: record{ID: id}, chunks: map[string][]shardRecord{}, done: map[int]bool{},
		begun: map[int]*process{}}
}

// eachShard calls do with each of its shards, wherever they are stored.
func (e *execRecord) eachShard(do func(shardRecord)) {
	for _, s := range e.Shards {
		do(s)
	}
	for _, path := range sorted(e.chunks) {
		for _, s := range e.chunks[path] {
			do(s)
		}
	}
}

// jobMirror is a job according to its committed document, disabled mark and state.
type jobMirror struct {
	cfg      *jobs.Config
	schedule *cron.Schedule
	since    time.Time
	off      bool
	paused   bool
	stored   bool // its state is stored
	// documented is when its document last changed. The leader stores since in a commit of its own soon after.
	documented time.Duration
	checkedTo  time.Time
	lastOpen   time.Duration // when it last had an open execution
	open       map[string]bool
}

func (c *checker) job(name string) *jobMirror {
	j := c.jobs[name]
	if j == nil {
		j = &jobMirror{open: map[string]bool{}, lastOpen: -time.Hour}
		c.jobs[name] = j
	}
	return j
}

// setDocument sets the document that is in force for the leader from here on, or nil.
func (j *jobMirror) setDocument(cfg *jobs.Config, zone *time.Location) {
	j.cfg, j.schedule = cfg, nil
	if cfg != nil && !j.daemon() {
		j.schedule, _ = jobs.Schedule(*cfg, zone)
	}
}

func splitPath(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:i], path[i+1:]
}

// committed applies a commit's writes to the mirror.
func (c *checker) committed(writes []registry.Write, decidedAt time.Time) {
	if len(writes) == 0 {
		return
	}
	c.decidedAt = decidedAt
	c.marksCommitted(writes)
	// All writes happen at the same time. The order here avoids wrong intermediate states: shards come before the
	// header of their execution, and executions that ended before those that began in their place.
	rank := func(wr *registry.Write) int {
		switch {
		case strings.HasPrefix(wr.Path, pathShards+"/") && !wr.Delete:
			return 0
		case strings.HasPrefix(wr.Path, pathExecution+"/") && bytes.Contains(wr.Value, []byte(`"ended":`)):
			return 1
		}
		return 2
	}
	for now := range 3 {
		for i := range writes {
			if rank(&writes[i]) == now {
				c.apply(&writes[i])
			}
		}
	}
	c.checkNothingBeginsOff(writes)
	c.checkNotificationsWritten()
}

// apply applies one write of a commit to the mirror.
func (c *checker) apply(wr *registry.Write) {
	dir, name := splitPath(wr.Path)
	c.w.trace.add("  committed: %s, deleted %v, %.300s", wr.Path, wr.Delete, wr.Value)
	readable := func(err error) bool {
		if err != nil {
			c.w.fail("what is written can be read", "%s: %v", wr.Path, err)
		}
		return err == nil
	}
	read := func(v any) bool { return readable(json.Unmarshal(wr.Value, v)) }
	switch {
	case wr.Path == pathCursor:
		var m struct {
			Time time.Time
			Job  string
		}
		if read(&m) {
			c.cursorMoved(m.Time, m.Job)
		}
	case dir == pathExecution && wr.Delete:
		c.checkRemoved(name)
	case dir == pathExecution:
		var r record
		if read(&r) {
			c.applyExecution(r)
		}
	case strings.HasPrefix(dir, pathShards+"/"):
		id := dir[len(pathShards)+1:]
		if wr.Delete {
			delete(c.parts, wr.Path)
			for _, e := range []*execRecord{c.execs[id], c.early[id]} {
				if e != nil && e.chunks[wr.Path] != nil {
					c.shardsChanged(e, e.chunks[wr.Path], nil)
					delete(e.chunks, wr.Path)
				}
			}
			return
		}
		if part, err := c.parts.read(wr.Path, wr.Value); readable(err) {
			c.applyChunk(id, wr.Path, part)
		}
	case dir == pathOrphan && wr.Delete:
		delete(c.orphans, name)
		delete(c.silentOrphans, name)
		delete(c.alive, name)
		delete(c.seenAlive, name)
		delete(c.staged, name)
	case dir == pathOrphan:
		var o struct {
			Agent, RemovedBy string
			Blocks           bool
			Until            time.Time
			Executor         string
			Silent           bool
		}
		if read(&o) {
			if o.Silent && c.orphans[name] == "" {
				c.checkGivenUp(name, o.Executor)
			}
			if delete(c.silentOrphans, name); o.Silent {
				c.silentOrphans[name], c.everSilent[name] = o.Executor, true
			}
			c.orphans[name], c.removedBy[name] = o.Agent, o.RemovedBy
			c.seenAlive[name] = o.Blocks && o.Until.IsZero()
		}
	case dir == pathDaemonRuns && wr.Delete:
		delete(c.runs, name)
		delete(c.cut, name)
	case dir == pathDaemonRuns:
		var r runsRecord
		if read(&r) {
			c.applyRuns(name, r)
		}
	case dir == pathNotification && wr.Delete:
		c.notificationRemoved(name)
	case dir == pathExecutor && wr.Delete:
		delete(c.executors, name)
	case dir == pathExecutor:
		var x struct{ Closing bool }
		if read(&x) {
			c.executors[name] = x.Closing
			if x.Closing {
				c.endedExecutors[name] = true
			}
		}
	case dir == pathJobs && wr.Delete:
		c.job(name).setDocument(nil, c.w.opt.Zone)
		c.job(name).documented = c.w.now
	case dir == pathJobs:
		if cfg, _, err := jobs.Schema.Decode(wr.Value, jobs.Default()); readable(err) {
			c.job(name).setDocument(&cfg, c.w.opt.Zone)
			c.job(name).documented = c.w.now
		}
	case dir == pathJobState && wr.Delete:
		c.job(name).stored = false
	case dir == pathJobState:
		var s struct {
			Off    bool
			Paused bool
			Since  time.Time
		}
		if read(&s) {
			j := c.job(name)
			if !s.Since.Equal(j.since) && c.cursor.After(j.checkedTo) {
				j.checkedTo = c.cursor // with the clock behind the cursor, since may be before it (rule F4)
			}
			j.stored, j.off, j.paused, j.since = true, s.Off, s.Paused, s.Since
		}
	}
}
