package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Stored is all that a term loads from the registry.
type Stored struct {
	// Entries are in the order of store.Paths, and sorted by path below each of these, so that documents come first.
	Entries []registry.Entry
	// Documents are the results of ReadDocument for the entries, in the same order. If it is nil, Load reads them
	// itself.
	Documents []config.Document
}

// Load fills an empty core with the state of the last term. A document that cannot be used or read is reported and
// left unchanged, and all other jobs run ([D15]). It is an error if a record of the scheduler itself cannot be read,
// or if a newer release or another kind of cluster has made the state, because the scheduler might lose or repeat
// work.
func (c *Core) Load(wall time.Time, stored Stored) error {
	c.shared.Begin(wall)
	c.fires.BeginLoading()
	defer c.fires.EndLoading()
	if err := c.stateVersion.load(stored.Entries, c.shared.Opt.Release); err != nil {
		return err
	}
	if err := c.checkClusterKind(stored.Entries); err != nil {
		return err
	}
	var damage []error
	for i, e := range stored.Entries {
		dir, name := store.Split(e.Path)
		var err error
		var d config.Document
		if stored.Documents != nil {
			d = stored.Documents[i]
		} else {
			d = config.ReadDocument(&c.shared.Opt, wall, e)
		}
		if e.Unreadable != "" && dir != store.PathApps && dir != store.PathJobs {
			if err = c.loadUnreadable(e, dir); err != nil {
				damage = append(damage, err)
			}
			continue
		}
		switch dir {
		case store.PathApps:
			c.config.LoadApp(name, d)
		case store.PathJobs:
			c.config.LoadJob(name, d)
		case store.PathAppDisabled, store.PathJobDisabled:
			c.config.SetMark(e.Path, config.MarkOf(e.Path, e.Value))
		case store.PathExecution:
			err = c.executions.Restore(e.Value)
		case store.PathExecutor:
			err = c.executors.Restore(e.Value)
		case store.PathOrphan:
			var o orphans.Orphan
			if err = json.Unmarshal(e.Value, &o); err == nil {
				lingerTime := o.Until.Sub(o.Since)
				c.shared.Clamp(0, &o.Since, &o.Away, &o.Staged)
				if !o.Until.IsZero() {
					o.Until = o.Since.Add(lingerTime)
				}
				c.orphans.Restore(o)
			}
		case store.PathStartFailure:
			var until time.Time // apps are loaded already, because documents come first
			until, err = c.startFailures.Restore(e, func(name string) bool { return c.config.App(name) != nil })
			c.shared.RequestMatchAt(until)
		case store.PathMachine:
			err = c.machines.Restore(name, e.Value)
		case store.PathIncident:
			err = c.incidents.Restore(name, e.Value)
		case store.PathDaemonRuns:
			err = c.daemons.Restore(name, e.Value)
		case store.PathNotification:
			err = c.notifications.Restore(name, e.Value)
		case store.PathKey:
			err = c.executions.RestoreKey(name, e.Value)
		case store.PathMadeUp:
			err = c.fires.RestoreMadeUp(name, e.Value)
		case store.PathJobState:
			err = c.config.RestoreRecord(name, e.Value)
		case store.PathAudit:
			err = c.audit.Restore(name, e)
		case store.PathHistoryBatches:
			err = c.recording.Restore(e)
		default:
			err = c.loadOther(e, dir)
		}
		if err != nil {
			damage = append(damage, fmt.Errorf("read %s: %w; the scheduler's state is damaged there: restore the registry from a backup, or remove that entry and its job's tasks", e.Path, err))
		}
	}
	if len(damage) > 0 {
		return joinDamage(damage)
	}
	c.subscription.BeginTakeover()
	c.config.FinishLoading()
	if err := c.joinLoaded(); err != nil {
		return err
	}
	c.views.PrepareHeld()
	return nil
}

// loadUnreadable handles an entry that cannot be read. It returns an error only if the scheduler cannot run without
// the entry.
func (c *Core) loadUnreadable(e registry.Entry, dir string) error {
	const disabled, state = "/state/disable", "/state/"
	switch {
	case dir == store.PathAppDisabled || dir == store.PathJobDisabled:
		c.config.SetMark(e.Path, config.MarkedDisabled)
		c.config.AddFault(e.Path, config.MarkUnreadable(e), e.Version) // reported with the documents
	case strings.HasPrefix(e.Path, state) && !strings.HasPrefix(e.Path, disabled):
		c.shared.Note(step.Note{Kind: step.NoteFaulty,
			Detail: e.Path + ": entry of the original scheduler not readable, left unchanged; the next leader reads it again: " + e.Unreadable, Problem: true})
	default:
		return fmt.Errorf("read %s: %s; the scheduler can't lead without it: grant it read permission", e.Path,
			e.Unreadable)
	}
	return nil
}

// maxDamageShown is the maximum number of damaged entries that the error names.
const maxDamageShown = 20

// joinDamage joins the errors about damaged entries, of which it names at most maxDamageShown.
func joinDamage(damage []error) error {
	if more := len(damage) - maxDamageShown; more > 0 {
		damage = append(damage[:maxDamageShown:maxDamageShown], fmt.Errorf("and %d more", more))
	}
	return errors.Join(damage...)
}

// loadOther loads an entry that is alone in its directory, belongs to the original's queues or holds shards. It
// ignores any other entry.
func (c *Core) loadOther(e registry.Entry, dir string) (err error) {
	switch {
	case e.Path == store.PathCursor:
		return c.fires.Restore(e.Value)
	case e.Path == store.PathLeaps:
		return c.fires.RestoreLeaps(e.Value)
	case e.Path == store.PathCounter:
		err = c.executors.RestoreCounter(e.Value)
	case e.Path == store.PathFencing:
		err = c.st.Fencing.Restore(e.Value)
	case e.Path == store.PathLeaseSecret:
		err = c.st.Leases.Restore(e.Value)
	case e.Path == store.PathFramework:
		c.subscription.RestoreID(string(e.Value))
	case e.Path == store.PathOurFramework:
		c.subscription.RestoreOwnID(string(e.Value))
	case e.Path == store.PathHistoryStored || e.Path == store.PathHistoryBase:
		err = c.recording.Restore(e)
	case c.imports.Restore(e):
	case strings.HasPrefix(dir, store.PathShards+"/"):
		err = c.executions.RestoreShards(e.Path, e.Value)
	}
	return err
}

// joinLoaded connects the loaded executions with their shards and tasks, imports the queues of the original, and
// applies the documents of every job.
func (c *Core) joinLoaded() error {
	for _, path := range c.config.Faults() {
		c.shared.Note(step.Note{Kind: step.NoteFaulty, Detail: path + ": " + c.config.FaultAt(path).Why().String(),
			Problem: true})
	}
	ended, err := c.executions.Join()
	if err != nil {
		return err
	}
	for e := range c.executions.AllOpen() {
		c.config.JobOrRemoved(e.Job())
	}
	c.audit.FinishLoading()
	c.recording.BeginTerm(ended, c.audit.Rows())
	c.minutes.SampleLater()
	loadJobStats(c.st)
	c.imports.ImportQueues()
	c.executions.SortQueues()
	for _, id := range c.executions.OpenIDs() {
		c.resume(c.executions.Get(id))
	}
	for _, name := range c.config.JobNames() {
		if j := c.config.Job(name); j != nil {
			if !c.config.ForgetUnused(j, c.executions.HasOpen(name)) {
				c.applyJobState(j)
			}
		}
	}
	c.attempts.RestoreLeases()
	c.notifications.ScheduleAll()
	for _, x := range c.executors.Sorted() {
		if !c.executors.Usable(x) {
			c.executors.Close(x)
		}
		c.retirer.CheckIdle(x)
	}
	return nil
}

// resume indexes the tasks of a loaded execution, counts their resources, and makes its waiting shards launchable.
func (c *Core) resume(e *executions.Execution) {
	if e.Daemon() && e.Launched() {
		// It runs for months, so it is recorded again: the disk of a former leader may never be read again.
		c.recording.Changed(e)
		c.executions.MarkOutdated(e)
		c.daemons.TendLater(e.Job())
	}
	c.executions.IndexTasks(e)
	for i := range e.NumShards() {
		s := e.Shard(i)
		if !s.Live() {
			continue
		}
		if x := c.executors.Get(s.Executor()); x != nil || s.Executor() == "" {
			c.st.Allot(s.Agent(), x, e.Needs(s), e.Daemon())
		}
		c.agents.Restore(s.Agent(), s.AgentURL(), s.Host())
	}
	c.executions.Resume(e)
}
