package executions

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

func (es *Set) insertLaunchable(e *Execution, key LaunchKey) {
	e.launchKey, e.launchable = key, true
	i, _ := slices.BinarySearchFunc(es.launchable, key, compareLaunch)
	es.launchable = slices.Insert(es.launchable, i, e)
}

func (es *Set) removeLaunchable(e *Execution) {
	if !e.launchable {
		return
	}
	if i, ok := slices.BinarySearchFunc(es.launchable, e.launchKey, compareLaunch); ok {
		es.launchable = slices.Delete(es.launchable, i, i+1)
	}
	e.launchable = false
}

func compareLaunch(e *Execution, k LaunchKey) int { return compareLaunchKeys(e.launchKey, k) }

// Queue returns the open executions of a job in order: the first one runs or is the next to run. The slice must not be
// changed or kept.
func (es *Set) Queue(job string) []*Execution { return es.queues[job] }

// First returns the first execution of a job's queue, which runs or is the next to run; nil if the queue is empty.
func (es *Set) First(job string) *Execution {
	if queue := es.queues[job]; len(queue) > 0 {
		return queue[0]
	}
	return nil
}

// HasOpen reports whether an execution of a job is open.
func (es *Set) HasOpen(job string) bool { return len(es.queues[job]) > 0 }

// FireMustWait reports whether a fire finds its job busy. The job is not busy if its only open executions are launched
// ones that are being killed, such as those of a deregistered job of the same name: the first fire of the new job
// waits for their end (rule K2).
func (es *Set) FireMustWait(job string) bool {
	return slices.ContainsFunc(es.queues[job], func(e *Execution) bool { return !e.Launched() || e.rec.Kill.IsZero() })
}

// Standing is the standing execution of a daemon job, nil if there is none or only one that is being ended.
func (es *Set) Standing(job string) *Execution {
	for _, e := range es.queues[job] {
		if e.Daemon() && e.GoesOn() {
			return e
		}
	}
	return nil
}

// NewExecution describes an execution that is about to be opened.
type NewExecution struct {
	ID, Job string
	Fire    time.Time
	Source  Source
	// Overrides, OverridesOf and OverridesTo are those of Execution; nil and "" for a run with the job's own
	// settings.
	Overrides                *jobs.Overrides
	OverridesOf, OverridesTo string
}

func (es *Set) create(m NewExecution) *Execution {
	return &Execution{rec: record{ID: m.ID, Job: m.Job, Fire: m.Fire, Source: m.Source, CreatedAt: es.shared.Now(),
		Overrides: m.Overrides, OverridesOf: m.OverridesOf, OverridesTo: m.OverridesTo}}
}

// Enqueue opens an execution and adds it to its job's queue, in the order of fire times but behind launched ones. No
// open execution may have the id.
func (es *Set) Enqueue(m NewExecution) *Execution {
	e := es.create(m)
	es.add(e)
	es.shared.NeedChanged()
	queue := es.queues[e.rec.Job]
	i := len(queue)
	for i > 0 && !queue[i-1].Launched() && e.rec.Fire.Before(queue[i-1].rec.Fire) {
		i--
	}
	queue = slices.Insert(queue, i, e)
	es.queues[e.rec.Job] = queue
	es.shared.Note(step.Note{Kind: step.NoteExecutionCreated, Job: e.rec.Job, Execution: e.rec.ID,
		Detail: string(e.rec.Source)})
	if i == 0 && len(queue) > 1 {
		es.removeLaunchable(queue[1])
	}
	es.MakeHeadLaunchable(e.rec.Job)
	es.report(Change{Kind: ExecutionCreated, Exec: e})
	return e
}

// MakeHeadLaunchable makes the first execution of a job's queue launchable, unless it was launched or is to end (rule
// F5).
func (es *Set) MakeHeadLaunchable(job string) {
	if queue := es.queues[job]; len(queue) > 0 && !queue[0].Launched() && queue[0].rec.Kill.IsZero() {
		es.AddLaunchable(queue[0])
	}
}

// dequeue removes an execution that has ended from its job's queue, and makes the next one launchable.
func (es *Set) dequeue(e *Execution) {
	queue := slices.DeleteFunc(es.queues[e.rec.Job], func(q *Execution) bool { return q == e })
	if len(queue) == 0 {
		delete(es.queues, e.rec.Job)
		return
	}
	es.queues[e.rec.Job] = queue
	es.MakeHeadLaunchable(e.rec.Job)
}

// AddLaunchable adds an execution to those that a match places, or moves it if its place in the order has changed.
func (es *Set) AddLaunchable(e *Execution) {
	class := classReady
	if e.Launched() {
		class = classRequeued
	}
	key := LaunchKey{class, e.rec.Fire, e.rec.ID}
	if e.launchable {
		if e.launchKey == key {
			return
		}
		es.removeLaunchable(e)
	}
	if !e.Launched() {
		e.unplaced.Never = false // its job may have changed while it was not the first of the queue
	}
	es.insertLaunchable(e, key)
	es.shared.RequestMatch()
}

// Launchable lists the executions that may have something to launch, in the order of launches. The slice must not be
// changed or kept.
func (es *Set) Launchable() []*Execution { return es.launchable }

// LaunchableFrom returns the part of Launchable that begins at a place in that order.
func (es *Set) LaunchableFrom(key LaunchKey) []*Execution {
	from, _ := slices.BinarySearchFunc(es.launchable, key, compareLaunch)
	return es.launchable[from:]
}

// LaunchKey orders the launchable executions: those with shards to run again first, then by fire time, then by id.
type LaunchKey struct {
	class int
	fire  time.Time
	id    string
}

const (
	classRequeued = iota // shards of a launched execution that run again
	classReady
)

// compareLaunchKeys compares by class, then by fire time, then by id.
func compareLaunchKeys(a, b LaunchKey) int {
	return cmp.Or(cmp.Compare(a.class, b.class), a.fire.Compare(b.fire), strings.Compare(a.id, b.id))
}
