package core

import (
	"cmp"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// endAttempt ends the present attempt of a shard: the shard has ended with it, or waits for another attempt (next). Its
// processes may live on for as long as it lingers: until then no other attempt of the shard begins (promise 2).
func (c *Core) endAttempt(ref executions.TaskRef, how outcome, lingers time.Duration) {
	e, s := ref.Exec, ref.Shard()
	var orphan orphans.Orphan
	if lingers > 0 {
		orphan = c.newOrphan(ref)
	}
	if e.Daemon() {
		c.daemons.AttemptEnds(ref)
	}
	in := c.endingOf(ref, how)
	v := next(in)
	c.executions.Ends(ref, v.attempt, how == outcomeFailed || v.state == executions.Failed, v.cause, v.counts)
	if v.blameAgent && c.config.App(e.Settings().App.AppName) != nil {
		// Shards that bring their executors are launched together, and fail so.
		start := cmp.Or(s.Executor(), fmt.Sprintf("%s#%d", e.ID(), s.Attempt()))
		c.MatchAt(c.starts.Record(e.Settings().App.AppName, s.Agent(), start, in.cause))
	}
	if x := c.executors.Get(s.Executor()); x != nil && v.closeExecutor {
		if v.mismatch {
			detail := s.Executor() + " takes no more tasks: the master has another ExecutorInfo of it; a new one is started"
			c.Note(step.Note{Kind: step.NoteExecutor, Detail: detail, Problem: true})
		}
		c.executors.Close(x)
	}
	if v.state.Terminal() {
		c.executions.CompleteShard(ref, v.state)
		if lingers > 0 {
			c.addEnding(orphan, lingers)
		}
	} else {
		c.executions.RunAgain(ref, v.source, max(v.delay, lingers), c.places.Output(s))
	}
}
