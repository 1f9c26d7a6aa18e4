package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/jobs/cron"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/resources"
)

// Core holds one term's state and decides. It is pure: time, randomness and
// events come in with Step, everything that is to happen comes out of it. It
// must not be used concurrently.
type Core struct {
	opt CoreOptions

	apps map[string]*appState
	jobs map[string]*jobState

	executions map[string]*execution
	// launchable are executions with shards to place, in order (rule L2's queue).
	launchable []*execution
	// matchedUpTo is where the next match goes on, zero at the top.
	matchedUpTo launchKey
	roundOffers int64 // offers received when the round began
	items       []int // 0, 1, 2, …
	tasks       map[string]taskRef
	ghosts      map[string]*ghost
	executors   map[string]*executorRecord
	// executorsOn are the same by agent; closing those that are to go.
	executorsOn map[string][]*executorRecord
	closing     map[string]*executorRecord
	agents      map[string]*agentState
	pool        *offers.Pool
	timetable   *cron.Timetable
	schedules   map[string]*cron.Schedule
	timers      timers
	ended       history
	// ghostsOf are the ghosts that block, by job and task id.
	ghostsOf map[string]map[string]*ghost
	// haunted are the agents of ghosts of removed frameworks, with their ids; some may be over. It is made when it is asked for.
	haunted map[string][]string

	made     mark
	troubles []loadedTrouble
	// unreachableHosts are those that packages could not be fetched from.
	unreachableHosts map[string]*startTrouble
	maintained       map[string]bool // agents with maintenance planned
	gap              *gap
	pendingFire      *instant
	executorN        int64
	imported         []importEntry // what the original left waiting
	importedAt       time.Time
	ourFrame         string            // the framework id that is marked as ours
	questions        map[string]string // about invented tasks → the agent that each is about
	takeover         *takeover         // while the framework id is another's (rule T8)
	frameworkID      string

	session     sessionState
	flow        flowState
	timing      reviveTiming
	reservation *reservation
	lastTurn    map[string]time.Time // when the last reservation of an execution ended without a launch
	acceptSeq   int64
	accepts     map[int64]*sentAccept
	draining    bool
	keys        map[string]time.Time // executions that were asked for with an Idempotency-Key, and when
	loading     bool
	dirty       dirtySet
	matchAgain  bool
	nextSweep   time.Time
	behindNoted bool
	faulty      map[string]fault // documents that can't be used, by path
	marked      map[string]bool  // disabled marks that are there, by path
	stats       Stats
	jobStats    jobStats
	lastStep    time.Time

	// Of the step under way.
	now time.Time
	rnd rand.Source
	out Decision
}

// appState is an app and what the brain knows of it.
type appState struct {
	name     string
	cfg      app.Config
	version  int64
	disabled bool
	// kind names the executors that can run its tasks: app and fingerprint.
	kind string
	jobs map[string]*jobState
	// nextDue is when the next of its jobs fires, zero when it is not known.
	nextDue time.Time
	notes   []string // about its document
	// starts are failed starts of its executors by agent (rule L6).
	starts map[string]*startTrouble
	// fetched tells that a process of it began under this leader, and that no fetch of it has failed since.
	fetched bool
}

// jobState is a job, or the tombstone of a deregistered one whose tasks are
// not over yet (rule K2).
type jobState struct {
	name string
	// cfg is nil for a tombstone.
	cfg      *jobs.Config
	version  int64
	disabled bool
	schedule *cron.Schedule
	since    time.Time // rule F2
	notes    []string  // about its document
	stored   jobRecord
	isStored bool
	// countsWritten is when stored.Fires was written for the counts' sake.
	countsWritten time.Time
	// queue holds the executions in order; the first one runs or is the next to.
	queue []*execution
}

type taskRef struct {
	exec  *execution
	index int
}

func (r taskRef) shard() *shard { return &r.exec.Shards[r.index] }

// agentState is what is known of an agent.
type agentState struct {
	id, host, url string
	// capacity is the most ever seen free plus used by us.
	capacity resources.Amount
	// room is capacity, measured again when a turn without a launch says that it was thought too large (rule L2).
	room resources.Amount
	// registered is set when this very master has had it in this session.
	registered bool
	// hereSince and hereSeen are the first and the last of the signs, in this session, that it is
	// registered; question is what is asked for that (ghosts of removed frameworks).
	hereSince, hereSeen time.Time
	question            string
	unavailable, back   time.Time // when its maintenance begins, and is over; zero when not said
	lastSeen            time.Time
}

// NewCore makes an empty core; Load fills it.
func NewCore(opt CoreOptions) *Core {
	c := &Core{
		opt:  opt,
		apps: map[string]*appState{}, jobs: map[string]*jobState{},
		executions: map[string]*execution{}, tasks: map[string]taskRef{},
		ghosts: map[string]*ghost{}, ghostsOf: map[string]map[string]*ghost{},
		executors: map[string]*executorRecord{}, executorsOn: map[string][]*executorRecord{}, closing: map[string]*executorRecord{}, agents: map[string]*agentState{},
		pool: offers.NewPool(), timetable: cron.NewTimetable(), schedules: map[string]*cron.Schedule{},
		lastTurn: map[string]time.Time{}, accepts: map[int64]*sentAccept{},
		unreachableHosts: map[string]*startTrouble{},
		ended:            newHistory(), jobStats: newJobStats(opt.JobMetrics),
		faulty: map[string]fault{}, marked: map[string]bool{}, maintained: map[string]bool{}, keys: map[string]time.Time{}, questions: map[string]string{},
	}
	c.dirty.reset()
	c.stats.FireDelayBuckets = make([]int64, len(FireDelayBounds()))
	return c
}

// Step takes what happened and says what is to be done. now must not be zero; rnd gives
// the ids. The caller commits Writes, then lets the rest out (see Decision).
func (c *Core) Step(now time.Time, rnd rand.Source, events []Event) Decision {
	c.now, c.rnd = now.UTC(), rnd // and what Load has to say
	c.ensureFramework()
	for _, e := range events {
		c.take(e)
	}
	if c.now.Before(c.lastStep) {
		c.clockSetBack(c.lastStep.Sub(c.now))
	}
	c.timers.run(c.now)
	c.sweepTasks()
	c.makeFires()
	c.subscribe()
	c.reconcileDue()
	c.takeOver()
	c.resendKills()
	c.launch()
	c.tendExecutors()
	c.tendOffers()
	c.finishDrain()
	c.write()
	c.out.Wake = c.nextWake()
	c.lastStep = c.now
	out := c.out
	c.out = Decision{}
	return out
}

// clockSetBack keeps what waits for a moment waiting for as long as before.
func (c *Core) clockSetBack(by time.Duration) {
	c.timers.shift(by)
	for _, x := range c.executors {
		if x.idleSince.After(c.now) {
			x.idleSince = c.now
		}
	}
	if c.gap != nil && c.gap.upto.After(c.now) {
		// It is as long as the clock was ahead. Its end must not become the mark: no fires would be made until then (rule F4).
		c.gap = nil
	}
}

func (c *Core) take(e Event) {
	switch e := e.(type) {
	case AppChanged:
		c.appChanged(e)
	case JobChanged:
		c.jobChanged(e)
	case TriggerAsked:
		c.trigger(e)
	case MarkChanged:
		c.markChanged(e)
	case ReconcileAsked:
		c.reconcileAsked(e)
	case DocumentFaulty:
		c.documentFaulty(e)
	case ForgetAsked:
		c.forget(e)
	case KillRequested:
		c.killRequested(e)
	case Drain:
		c.drain()
	case SessionBegan:
		c.sessionBegan(e)
	case SessionEnded:
		c.sessionEnded(e)
	case MasterChanged:
		if s := &c.session; s.number == e.Session && !s.open && !s.asked {
			s.notUntil = c.now
		}
	case AcceptAnswered:
		c.acceptAnswered(e)
	case Told:
		if e.Session == c.session.number && c.session.open {
			c.told(e.Event)
		}
	}
}

func (c *Core) told(e cluster.Event) {
	switch e := e.(type) {
	case cluster.Offers:
		c.offered(e)
	case cluster.Rescind:
		c.pool.Rescind(e.OfferID)
		c.needChanged()
	case cluster.Update:
		c.stats.StatusUpdates++
		c.update(e)
	case cluster.Failure:
		c.failure(e)
	}
}

func (c *Core) call(call Call)     { c.out.Calls = append(c.out.Calls, call) }
func (c *Core) note(n Note)        { c.out.Notes = append(c.out.Notes, n) }
func (c *Core) wakeAt(t time.Time) { c.timers.at(t, func(time.Time) {}) }

// uuid makes a random version 4 UUID from the step's randomness.
func (c *Core) uuid() string {
	a, b := c.rnd.Uint64(), c.rnd.Uint64()
	a = a&^0xf000 | 0x4000
	b = b&^(0xc0<<56) | 0x80<<56
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&0xffffffffffff)
}

func (c *Core) ensureFramework() {
	if c.frameworkID != "" {
		return
	}
	if c.takeover != nil {
		c.dirty.done = append(c.dirty.done, c.takeover.running...)
		c.takeover = nil
	}
	// Ours from the first: committed before it is used, so that no crash
	// leaves a framework that nobody knows (rule T7).
	c.frameworkID = ownFramework + c.uuid()
	c.ourFrame = c.frameworkID
	c.dirty.framework = true
}

// ownFramework is what ids of ours begin with; Mesos makes none like that.
const ownFramework = "elasticjob-"

func (c *Core) nextWake() time.Time {
	var at time.Time
	earlier := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	if t, ok := c.timers.next(); ok {
		earlier(t)
	}
	if t, ok := c.nextFire(); ok && !c.behindNoted {
		earlier(t)
		earlier(later(t.Add(-c.lead()), c.now))
	}
	if len(c.tasks)+len(c.ghosts) > 0 {
		earlier(c.nextSweep)
	}
	if (c.gap != nil || c.pendingFire != nil) && !c.behindNoted || c.matchAgain {
		earlier(c.now)
	}
	if c.behindNoted {
		earlier(c.made.Time)
	}
	earlier(c.flow.wake)
	earlier(c.takeover.wake())
	earlier(c.session.wake())
	if !at.IsZero() {
		earlier(c.now.Add(clockLook)) // the wall clock may step forward while the shell sleeps
	}
	return at
}

// clockLook is the longest sleep of a shell: it measures its sleep with a clock
// that knows nothing of steps of the wall clock.
const clockLook = 10 * time.Second

// later is t if it is after now, else zero: a moment that has passed wakes nobody.
func later(t, now time.Time) time.Time {
	if t.After(now) {
		return t
	}
	return time.Time{}
}

// off says why a job makes no fires, or "".
func (c *Core) off(j *jobState) string {
	if f := c.faulty[under(pathJobs, j.name)]; f.why != "" && j.cfg == nil {
		return "its document " + under(pathJobs, j.name) + " can't be used: " + f.why
	}
	if j.cfg == nil {
		return "the job is deregistered"
	}
	if j.disabled {
		return "the job is disabled"
	}
	a := c.apps[j.cfg.AppName]
	if a == nil {
		return c.appMissing(j.cfg.AppName)
	}
	if a.disabled {
		return fmt.Sprintf("its app %q is disabled", a.name)
	}
	return ""
}

func (c *Core) agent(id string) *agentState {
	a := c.agents[id]
	if a == nil {
		a = &agentState{id: id}
		c.agents[id] = a
	}
	a.lastSeen = c.now
	return a
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
		c.removeLaunchable(e)
	}
	if !e.launched() {
		e.neverFits = false // its job may have changed while it was not the next
	}
	e.launchKey, e.launchable = key, true
	i, _ := slices.BinarySearchFunc(c.launchable, key, compareLaunch)
	c.launchable = slices.Insert(c.launchable, i, e)
	c.matchAgain = true
}

func (c *Core) removeLaunchable(e *execution) {
	if !e.launchable {
		return
	}
	i, ok := slices.BinarySearchFunc(c.launchable, e.launchKey, compareLaunch)
	if ok {
		c.launchable = slices.Delete(c.launchable, i, i+1)
	}
	e.launchable = false
}

func compareLaunch(e *execution, k launchKey) int {
	switch {
	case e.launchKey.before(k):
		return -1
	case k.before(e.launchKey):
		return 1
	}
	return 0
}

// LogNote writes a note as one log line.
func LogNote(log *slog.Logger, n Note) {
	attrs := make([]any, 0, 8)
	for _, kv := range [][2]string{{"job", n.Job}, {"execution", n.Execution}, {"task", n.Task}, {"detail", n.Detail}} {
		if kv[1] != "" {
			attrs = append(attrs, kv[0], kv[1])
		}
	}
	if n.Problem {
		log.Warn(string(n.Kind), attrs...)
		return
	}
	level := slog.LevelInfo
	switch n.Kind {
	case NoteTaskLaunched, NoteTaskEnded:
		level = slog.LevelDebug // their executions are told of
	case NoteSession:
		level = slog.LevelDebug // the driver says it with more
	}
	log.Log(context.Background(), level, string(n.Kind), attrs...)
}
