package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
)

// checkIdle looks at an executor when it may have nothing to do soon (rule X9).
func (c *Core) checkIdle(x *executors.Executor) {
	if x.Tasks() > 0 || x.Pending() > 0 || x.IsClosing() {
		return
	}
	at := x.IdleSince().Add(c.Opt.ExecutorIdle)
	if c.obsolete(x) {
		at = c.Now()
	}
	if x.LookingAt().Equal(at) {
		return
	}
	c.lookIdle(x, at)
}

// lookIdle has the executor looked at then, and at no other time.
func (c *Core) lookIdle(x *executors.Executor, at time.Time) {
	c.executors.LookAt(x, at)
	id := x.ID()
	c.Timers.At(at, func(now time.Time) { c.idleLook(id, at, now) })
}

func (c *Core) idleLook(id string, at, now time.Time) {
	x := c.executors.Get(id)
	if x == nil || !x.LookingAt().Equal(at) {
		return // another look has taken its place
	}
	c.executors.LookAt(x, time.Time{})
	if x.IsClosing() || x.Tasks() > 0 || x.Pending() > 0 {
		return
	}
	if x.IdleSince().Add(c.Opt.ExecutorIdle).After(now) && !c.obsolete(x) {
		c.checkIdle(x)
		return
	}
	if until := c.appBusyUntil(x); !until.IsZero() {
		c.lookIdle(x, until)
		return
	}
	c.executors.Close(x)
}

// obsolete reports whether nothing will run on an executor any more: its app was deleted
// (rule K2) or changed (rule X1), and no shard waits to be run again with what
// it has (rule F7). There is no use in keeping it idle.
func (c *Core) obsolete(x *executors.Executor) bool {
	a := c.config.App(x.App())
	if a == nil {
		return true
	}
	if a.ExecutorKey() == x.Key() {
		return false
	}
	for _, j := range a.Jobs() {
		if len(c.executions.Queue(j.Name())) == 0 || !c.executions.Queue(j.Name())[0].Launched() || c.executions.Queue(j.Name())[0].Prepare().ExecutorKey() != x.Key() {
			continue
		}
		if c.executions.Queue(j.Name())[0].Waiting() > 0 {
			return false
		}
	}
	return true
}

// checkObsolete looks at an app's executors after it has changed.
func (c *Core) checkObsolete(appName string) {
	for _, x := range c.executors.Sorted() {
		if x.App() == appName {
			c.checkIdle(x)
		}
	}
}

// appBusyUntil is zero when the executor's app has neither a run nor a fire
// due within the idle time; else when to look again.
func (c *Core) appBusyUntil(x *executors.Executor) time.Time {
	a := c.config.App(x.App())
	if a == nil || a.ExecutorKey() != x.Key() {
		return time.Time{}
	}
	// At whole seconds, so that one step looks at all executors that are idle.
	again := c.Now().Add(max(c.Opt.ExecutorIdle, time.Second) + time.Second - 1).Truncate(time.Second)
	soon := c.Wall().Add(c.Opt.ExecutorIdle)
	if c.Opt.ExecutorIdle > 0 && a.NextDue().After(c.Wall()) && !a.NextDue().After(soon) {
		return again
	}
	// One look at all jobs serves all executors of the app until its next fire.
	known := a.NextDue().After(soon)
	var next time.Time
	for _, j := range a.Jobs() {
		// A job that may not launch, such as one that an orphan blocks (rule E5) or a daemon that is paused, keeps no executor.
		if len(c.executions.Queue(j.Name())) > 0 && !c.executions.Queue(j.Name())[0].Unplaced().Never && !c.st.HeldBack(c.executions.Queue(j.Name())[0]) && (c.executions.Queue(j.Name())[0].BusyBy(again) || !c.executions.Queue(j.Name())[0].Launched() && c.st.CanLaunch(j)) {
			return again
		}
		if known || c.Opt.ExecutorIdle == 0 || !j.FiredHere() || c.config.Inactive(j) != config.Active {
			continue
		}
		if at := j.Schedule().Next(c.Wall()); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if !known {
		c.config.KeepNextDue(a, next)
	}
	if next.IsZero() || next.After(soon) {
		return time.Time{}
	}
	return again
}
