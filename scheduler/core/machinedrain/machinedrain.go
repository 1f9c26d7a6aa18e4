// Package machinedrain empties machines that an operator drains (rule M3). Nothing new is placed there, because such a
// machine is cordoned. Shards of other jobs than daemons may come to their end. Shards of daemons are moved one at a
// time: a shard is killed only when another agent has room for it on offer. At the deadline all remaining tasks are
// killed, and their shards run again elsewhere.
//
// The marks belong to package machines. A Drainer owns only which shard it moved last and when it asked for offers;
// none of that is stored, because a new leader finds the same by looking at the tasks that remain on the machine.
package machinedrain

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/daemons"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/placement"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

const (
	// minAskInterval and maxAskInterval bound the growing interval at which offers are requested for daemons that have
	// no room elsewhere. Other offers that arrive meanwhile are used as well.
	minAskInterval = 10 * time.Second
	maxAskInterval = time.Minute
	// settleTimeout is how long the next shard waits until the one that was moved last runs elsewhere. After that the
	// drain goes on: another framework may have taken the room, and then the moved shard waits like any other.
	settleTimeout = time.Minute
	// maxCandidates bounds how many daemons' shards of a machine are matched with offers in a step.
	maxCandidates = 100
)

// Drainer empties the machines that are drained.
type Drainer struct {
	st        *state.State
	placement *placement.Placement
	daemons   *daemons.Daemons
	// progress is the progress of each machine that is drained.
	progress map[string]*progress
	wake     time.Time
}

// progress is how far the daemons of a machine have been moved.
type progress struct {
	// execution and item name the shard that was moved last, at movedAt.
	execution string
	item      int
	movedAt   time.Time
	// askedAt is when offers were last requested, and tries how often no offer with room came. noRoom has the tasks for
	// which no other agent has room.
	askedAt time.Time
	tries   int
	noRoom  map[string]bool
}

// New returns a Drainer.
func New(s *state.State, p *placement.Placement, d *daemons.Daemons) *Drainer {
	return &Drainer{st: s, placement: p, daemons: d, progress: map[string]*progress{}}
}

// Wake is when Tend is to be called next, in the time of the term; zero while no machine is being emptied.
func (d *Drainer) Wake() time.Time { return d.wake }

// Tend moves and stops the tasks on the machines that are drained. It is called once in each step, after the waiting
// shards were matched with the offers at hand, so that it takes no room from them.
func (d *Drainer) Tend() {
	d.wake = time.Time{}
	draining := d.st.Machines.Draining()
	if len(draining)+len(d.progress) == 0 {
		return
	}
	maps.DeleteFunc(d.progress, func(machine string, _ *progress) bool { return !slices.Contains(draining, machine) })
	var moving []placement.Moving
	for _, machine := range draining {
		moving = append(moving, d.tend(machine)...)
	}
	d.placement.SetMoving(moving)
}

// tend is Tend for one machine. It returns the shards for which offers are needed.
func (d *Drainer) tend(machine string) []placement.Moving {
	refs := d.tasksOn(machine)
	d.closeIdleExecutors(machine)
	if d.st.Machines.SetDrained(machine, len(refs)+len(d.orphansOn(machine)) == 0) {
		return nil
	}
	mark, _ := d.st.Machines.Get(machine)
	d.wakeAt(d.st.Now().Add(step.SweepInterval))
	if !mark.Deadline.IsZero() {
		if !mark.Deadline.After(d.st.Now()) {
			for _, ref := range refs {
				d.stop(ref, machine)
			}
			return nil
		}
		d.wakeAt(mark.Deadline)
	}
	if d.st.Draining() || d.st.Opt.Held != "" || d.st.Subscription.InTakeover() || !d.st.Subscription.Open() {
		return nil // nothing can be started elsewhere
	}
	return d.move(machine, refs)
}

// move stops the next daemon's shard for which another agent has room on offer, once the shard that was moved last has
// settled. It returns the shards for which offers are needed.
func (d *Drainer) move(machine string, refs []executions.TaskRef) (moving []placement.Moving) {
	p := d.progress[machine]
	if p == nil {
		p = &progress{}
		d.progress[machine] = p
	}
	for _, ref := range refs {
		if s := ref.Shard(); ref.Exec.Daemon() && !s.KillSince().IsZero() {
			// Its offer is held until it has ended.
			return []placement.Moving{{Ref: ref, At: s.KillSince()}}
		}
	}
	if !d.hasSettled(p) {
		if e := d.st.Executions.Get(p.execution); e.Shard(p.item).State() == executions.Waiting {
			moving = append(moving, placement.Moving{Ref: e.Ref(p.item), At: p.movedAt})
		}
		return moving
	}
	var candidates []executions.TaskRef
	for _, ref := range refs {
		if d.mayMove(ref) && len(candidates) < maxCandidates {
			candidates = append(candidates, ref)
		}
	}
	if len(candidates) == 0 {
		p.noRoom = nil
		return nil
	}
	i, matched := d.placement.FirstWithRoom(candidates)
	if i >= 0 {
		ref := candidates[i]
		*p = progress{execution: ref.Exec.ID(), item: ref.Shard().Item(), movedAt: d.st.Now()}
		d.stop(ref, machine)
		return []placement.Moving{{Ref: ref, At: d.st.Now()}}
	}
	// The offers that were requested would be here by now.
	asked := !p.askedAt.IsZero() && d.st.Now().Sub(p.askedAt) >= d.st.Opt.OfferAhead
	d.setNoRoom(p, candidates, matched || asked)
	if interval := step.Backoff(minAskInterval, maxAskInterval, p.tries-1); p.askedAt.IsZero() ||
		d.st.Now().Sub(p.askedAt) >= interval {
		p.askedAt = d.st.Now()
		p.tries++
	}
	if until := p.askedAt.Add(d.st.Opt.OfferAhead); d.st.Now().Before(until) {
		d.wakeAt(until)
		for _, ref := range candidates {
			moving = append(moving, placement.Moving{Ref: ref, At: p.askedAt})
		}
	}
	return moving
}

// setNoRoom records the candidates without room elsewhere: all of them if known is set, and otherwise those for which
// that was recorded before.
func (d *Drainer) setNoRoom(p *progress, candidates []executions.TaskRef, known bool) {
	now := map[string]bool{}
	for _, ref := range candidates {
		if id := ref.Shard().TaskID(); known || p.noRoom[id] {
			now[id] = true
		}
	}
	if !maps.Equal(now, p.noRoom) {
		p.noRoom = now
		d.st.ClusterChanged()
	}
}

// hasSettled reports whether the shard that was moved last runs elsewhere, or need not be awaited any more.
func (d *Drainer) hasSettled(p *progress) bool {
	e := d.st.Executions.Get(p.execution)
	if e == nil || p.item >= e.NumShards() || d.st.Now().Sub(p.movedAt) >= settleTimeout {
		return true
	}
	s := e.Shard(p.item)
	return s.State() == executions.Running || s.State().Terminal()
}

// mayMove reports whether a task is that of a daemon's shard that may be stopped now: its agent answers, nothing but
// room keeps the shard from starting elsewhere, and no other shard of the job is about to start or being replaced.
func (d *Drainer) mayMove(ref executions.TaskRef) bool {
	e, s := ref.Exec, ref.Shard()
	if !e.Daemon() || !s.Unreachable().IsZero() || !e.Kill().IsZero() || d.st.HeldBack(e) {
		return false
	}
	if d.st.StartFailures.Wait(d.st.AppOf(e), e.ID()).MustWait() || d.st.Orphans.IsBlocked(e.Job(), s.Item()) {
		return false
	}
	for i := range e.NumShards() {
		if other := e.Shard(i); other.Live() && !other.KillSince().IsZero() || other.Replacing() {
			return false
		}
	}
	starting, until := d.daemons.StartingShard(e)
	if starting >= 0 && starting != s.Item() {
		if !until.IsZero() {
			d.wakeAt(until)
		}
		return false
	}
	return true
}

// stop wants the task of a shard to be killed, unless its kill is wanted already.
func (d *Drainer) stop(ref executions.TaskRef, machine string) {
	if ref.Shard().KillSince().IsZero() {
		d.st.Executions.WantKill(ref, executions.WantedKill{Why: reason.MachineDrained(machine)})
	}
}

// closeIdleExecutors closes the executors without tasks on a machine.
func (d *Drainer) closeIdleExecutors(machine string) {
	for _, id := range d.st.Agents.OnHost(machine) {
		for _, x := range slices.Clone(d.st.Executors.On(id)) {
			if x.Tasks() == 0 && x.Pending() == 0 && !x.IsClosing() && !d.st.Orphans.ExistOn(x.ID()) {
				d.st.Executors.Close(x)
			}
		}
	}
}

// tasksOn lists the live tasks on a machine, by job and item.
func (d *Drainer) tasksOn(machine string) (refs []executions.TaskRef) {
	for _, id := range d.st.Agents.OnHost(machine) {
		for ref := range d.st.Executions.On(id) {
			if ref.Shard().Live() {
				refs = append(refs, ref)
			}
		}
	}
	slices.SortFunc(refs, func(a, b executions.TaskRef) int {
		return cmp.Or(cmp.Compare(a.Exec.Job(), b.Exec.Job()), cmp.Compare(a.Exec.ID(), b.Exec.ID()),
			cmp.Compare(a.Shard().Item(), b.Shard().Item()))
	})
	return refs
}

// orphansOn lists the orphans on a machine, by task id.
func (d *Drainer) orphansOn(machine string) (of []orphans.Orphan) {
	if d.st.Orphans.Len() == 0 {
		return nil
	}
	for _, o := range d.st.Orphans.All() {
		if o.Host == machine || slices.Contains(d.st.Agents.OnHost(machine), o.Agent) {
			of = append(of, o)
		}
	}
	return of
}

func (d *Drainer) wakeAt(at time.Time) {
	if d.wake.IsZero() || at.Before(d.wake) {
		d.wake = at
	}
}

// Left is a task that is still on a machine that is drained, and what holds it up.
type Left struct {
	TaskID, Execution, Job string
	Item                   int
	Why                    reason.Reason
}

// Left lists the tasks that remain on a machine that is drained, by job and item.
func (d *Drainer) Left(machine string) (all []Left) {
	mark, _ := d.st.Machines.Get(machine)
	var deadline time.Time
	if !mark.Deadline.IsZero() {
		deadline = d.st.Shown(mark.Deadline)
	}
	for _, ref := range d.tasksOn(machine) {
		s := ref.Shard()
		left := Left{TaskID: s.TaskID(), Execution: ref.Exec.ID(), Job: ref.Exec.Job(), Item: s.Item()}
		switch p := d.progress[machine]; {
		case !s.KillSince().IsZero():
			left.Why = reason.DrainStopping(d.st.Shown(s.KillSince()))
		case !s.Unreachable().IsZero():
			left.Why = reason.DrainUnreachable(d.st.Shown(s.Unreachable()))
		case !ref.Exec.Daemon():
			left.Why = reason.DrainMayFinish(deadline)
		case p != nil && p.noRoom[s.TaskID()]:
			left.Why = reason.DrainNoRoom(s.Need().String(), deadline)
		default:
			left.Why = reason.DrainTurn()
		}
		all = append(all, left)
	}
	for _, o := range d.orphansOn(machine) {
		all = append(all, Left{TaskID: o.TaskID, Execution: o.Execution, Job: o.Job, Item: o.Item,
			Why: reason.DrainOrphan()})
	}
	return all
}
