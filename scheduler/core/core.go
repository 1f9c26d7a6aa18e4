package core

import (
	"math/rand/v2"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/offers"
)

// Core holds one term's state and decides. It is pure: time, randomness and
// events come in with Step, everything that is to happen comes out of it. It
// must not be used concurrently.
type Core struct {
	*step
	config       configuration
	executions   executions
	agents       agents
	starts       startFailures
	executors    executors
	orphans      orphans
	fires        fires
	subscription subscription
	imports      imports

	placement placement
	flow      offerFlow
	draining  bool
}

type taskRef struct {
	exec  *execution
	index int
}

func (r taskRef) shard() *shard { return &r.exec.Shards[r.index] }

// New makes an empty core; Load fills it.
func New(opt Options) *Core {
	c := &Core{
		step:      &step{opt: opt, ofJobs: newJobStats(opt.JobMetrics)},
		orphans:   newOrphans(),
		executors: newExecutors(),
		fires:     newFires(),
	}
	c.executions = newExecutions(c.step)
	c.subscription.step = c.step
	c.config, c.agents = newConfiguration(c.step), newAgents(c.step)
	c.starts = newStartFailures(c.step, &c.executions)
	c.placement = newPlacement(c.step)
	c.flow = offerFlow{step: c.step, held: offers.NewPool()}
	c.stats.FireDelayBuckets = make([]int64, len(FireDelayBounds()))
	return c
}

// Step takes what happened and says what is to be done. rnd gives the ids. The caller commits Writes, then
// lets the rest out (see Decision).
func (c *Core) Step(now Now, rnd rand.Source, events []Event) Decision {
	c.rnd = rnd
	if c.setClock(now) {
		c.wallClockSet()
	}
	c.ensureFramework()
	for _, e := range events {
		c.handle(e)
	}
	c.timers.run(c.now)
	c.sweepTasks()
	c.makeFires()
	c.subscribe()
	c.reconcileDue()
	c.takeOver()
	c.resendKills()
	c.launch()
	c.shutDownClosing()
	c.manageOffers()
	c.finishDrain()
	c.write()
	c.out.Wake = c.nextWake()
	out := c.out
	c.out = Decision{}
	return out
}

func (c *Core) handle(e Event) {
	switch e := e.(type) {
	case AppChanged:
		c.appChanged(e)
	case JobChanged:
		c.jobChanged(e)
	case ChangeRequested:
		c.requestChange(e)
	case ChangeCommitted:
		c.changeCommitted(e)
	case TriggerRequested:
		c.trigger(e)
	case MarkChanged:
		c.markChanged(e)
	case ReconcileRequested:
		c.reconcileRequested(e)
	case DocumentFaulty:
		c.config.documentFaulty(e)
	case ForgetRequested:
		c.forget(e)
	case KillRequested:
		c.killRequested(e)
	case Drain:
		c.beginDrain()
	case SessionBegan:
		c.sessionBegan(e)
	case SessionEnded:
		c.sessionEnded(e)
	case MasterChanged:
		if s := &c.subscription; s.number == e.Session && !s.open && !s.asked {
			s.notUntil = c.now
		}
	case AcceptAnswered:
		c.acceptAnswered(e)
	case ClusterEvent:
		if e.Session == c.subscription.number && c.subscription.open {
			c.handleClusterEvent(e.Event)
		}
	}
}

func (c *Core) handleClusterEvent(e cluster.Event) {
	switch e := e.(type) {
	case cluster.Offers:
		c.offered(e)
	case cluster.Rescind:
		c.flow.held.Rescind(e.OfferID)
		c.flow.needChanged()
	case cluster.Update:
		c.stats.StatusUpdates++
		c.update(e)
	case cluster.Failure:
		c.failure(e)
	}
}

func (c *Core) ensureFramework() {
	if c.subscription.frameworkID != "" {
		return
	}
	if c.subscription.takeover != nil {
		c.imports.done = append(c.imports.done, c.subscription.takeover.running...)
		c.subscription.takeover = nil
	}
	// Ours from the first: committed before it is used, so that no crash
	// leaves a framework that nobody knows (rule T7).
	c.subscription.frameworkID = ownFramework + c.uuid()
	c.subscription.ours = c.subscription.frameworkID
	c.subscription.idChanged = true
}

// ownFramework is the prefix of the framework ids that this scheduler makes; Mesos makes none like that.
const ownFramework = "elasticjob-"

func (c *Core) nextWake() time.Duration {
	var at time.Time
	earlier := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	if t, ok := c.timers.next(); ok {
		earlier(t)
	}
	if t, ok := c.fires.next(); ok && !c.fires.behind {
		at := c.inTerm(t)
		earlier(at)
		earlier(later(at.Add(-c.flow.lead()), c.now))
	}
	if len(c.executions.tasks)+len(c.orphans.byID) > 0 {
		earlier(c.executions.nextSweep)
	}
	if (c.fires.missed != nil || c.fires.due != nil) && !c.fires.behind || c.placement.again {
		earlier(c.now)
	}
	if c.fires.behind {
		earlier(c.inTerm(c.fires.cursor.Time))
	}
	earlier(c.flow.wake)
	earlier(c.subscription.takeover.wake())
	earlier(c.subscription.wake())
	if at.IsZero() {
		return 0
	}
	earlier(c.now.Add(wallClockEvery))
	return max(at.Sub(c.began), 1)
}

// later is t if it is after now, else zero: a moment that has passed wakes nobody.
func later(t, now time.Time) time.Time {
	if t.After(now) {
		return t
	}
	return time.Time{}
}

// addLaunchable puts an execution where launch looks for work, or moves it
// when its place has changed.
func (c *Core) addLaunchable(e *execution) {
	class := classReady
	if e.launched() {
		class = classAgain
	}
	key := launchKey{class, e.Fire, e.ID}
	if e.launchable {
		if e.launchKey == key {
			return
		}
		c.executions.removeLaunchable(e)
	}
	if !e.launched() {
		e.unplaced.never = false // its job may have changed while it was not the next
	}
	c.executions.insertLaunchable(e, key)
	c.placement.again = true
}
