// Package watch determines which views a step has changed, so that the shell renews only those views and wakes only
// the readers that wait for them. A Watch keeps only values of the last step that it compares with the present ones,
// such as the state of the subscription. It reads the writes and effects of a step, and changes nothing but their list
// of changes.
package watch

import (
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/fires"
	"github.com/elasticjob-go/elasticjob/scheduler/core/placement"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// common has the values that the explanations of many jobs share.
type common struct {
	draining, open, behind bool
	reason                 string
	takeover               reason.Reason
	frameworkID, masterID  string
	ahead                  time.Duration
	capacities             int64
	cursor                 time.Time // the fire cursor, while the clock is behind it
	leaptFrom, leaptTo     time.Time // the last leap of the clock, while it is shown
	madeUntil              time.Time // the end of the present time in which fires were made ahead
}

// Watch determines which views a step has changed.
type Watch struct {
	st        *state.State
	placement *placement.Placement
	fires     *fires.Fires
	// common, nothingHeld and avoided are the compared values after the last step. avoided is why no agent is used; it
	// is compared only while no offer is held.
	common      common
	nothingHeld bool
	avoided     reason.Reason
}

// New returns a Watch that has seen no step.
func New(s *state.State, p *placement.Placement, f *fires.Fires) *Watch {
	return &Watch{st: s, placement: p, fires: f}
}

// currentCommon returns the present values that the explanations of many jobs share.
func (w *Watch) currentCommon() common {
	s := w.st.Subscription
	v := common{draining: w.st.Draining(), open: s.Open(), behind: !w.fires.BehindUntil().IsZero(), reason: s.Reason(),
		frameworkID: s.FrameworkID(), masterID: s.MasterID(),
		ahead: w.st.Ahead(), capacities: w.st.Agents.Capacities()}
	if s.InTakeover() {
		v.takeover = s.TakeoverReason()
	}
	v.cursor = w.fires.BehindUntil()
	v.leaptFrom, v.leaptTo = w.fires.Leapt()
	v.madeUntil = w.fires.MadeUntil()
	return v
}

// MarkChanged completes the list of views that the step has changed. It is called once, at the end of the step, with
// all its writes.
func (w *Watch) MarkChanged(writes []registry.Write) {
	out := &w.st.Effects().Changed
	if now := w.currentCommon(); now != w.common {
		w.common, out.All, out.Cluster = now, true, true
	}
	w.markOffers()
	w.markWritten(writes)
	for _, call := range w.st.Effects().Calls {
		switch call.(type) {
		case step.CallLaunch, step.CallDecline:
			out.Cluster = true
		}
	}
	out.Cluster = out.Cluster || len(out.Executions) > 0 // tasks begin and end on agents
	w.markWaiting()
}

// markOffers names the executions that show whether offers are held, and why there are none, if that has changed. Those
// with a reason of their own show neither.
func (w *Watch) markOffers() {
	out := &w.st.Effects().Changed
	nothing := w.placement.Held().Len() == 0
	changed := nothing != w.nothingHeld
	if changed {
		w.nothingHeld, out.Cluster = nothing, true
	}
	if nothing && out.Cluster { // an agent is avoided, or not any more, only by a change of the cluster
		why := w.st.AllAvoided()
		changed, w.avoided = changed || why != w.avoided, why
	}
	if !changed {
		return
	}
	for _, e := range w.st.Executions.Launchable() {
		if e.Unplaced().Why.IsZero() {
			w.st.ExecutionChanged(e.ID(), e.Job())
		}
	}
}

// markWritten names the jobs, executions and apps that the writes of the step change.
func (w *Watch) markWritten(writes []registry.Write) {
	out := &w.st.Effects().Changed
	for i := range writes {
		dir, name := store.Split(writes[i].Path)
		switch dir {
		case store.PathJobState, store.PathNotification:
			w.st.JobChanged(name)
		case store.PathExecution:
			w.markExecution(name)
		case store.PathDaemonRuns:
			job, _, _ := strings.Cut(name, "@")
			w.st.JobChanged(job)
			if j := w.st.Config.Job(job); j != nil {
				for _, e := range w.st.Executions.Queue(j.Name()) {
					if e.Daemon() {
						w.st.ExecutionChanged(e.ID(), e.Job())
					}
				}
			}
		case store.PathOrphan:
			job, _, _ := strings.Cut(name, "@-@")
			w.st.JobChanged(job)
		case store.PathExecutor, store.PathStartFailure, store.PathMachine:
			out.Cluster = true
		default:
			if id, chunk := strings.CutPrefix(dir, store.PathShards+"/"); chunk {
				w.markExecution(id)
			}
		}
	}
}

// markExecution names an execution and its job, by the id of the execution.
func (w *Watch) markExecution(id string) {
	w.st.Effects().Changed.Executions = step.AppendNew(w.st.Effects().Changed.Executions, id)
	job, _, _ := strings.Cut(id, "@")
	w.st.JobChanged(job)
}

// markWaiting names the executions in the queues of changed jobs, because the reasons for which they and their shards
// wait depend on their job and on the executions before them. It also names a daemon's last execution that has ended,
// which shows the daemon's runs until the next one is launched.
func (w *Watch) markWaiting() {
	changed := &w.st.Effects().Changed
	for _, name := range changed.Jobs {
		for _, e := range w.st.Executions.Queue(name) {
			changed.Executions = step.AppendNew(changed.Executions, e.ID())
		}
		if e := w.st.Executions.LastLaunchedEnded(name); e != nil && e.Daemon() {
			changed.Executions = step.AppendNew(changed.Executions, e.ID())
		}
	}
}

// MarkConfigured names the views that an event about documents changes. It is called both before and after the event
// is handled, because a job may move from one app to another.
func (w *Watch) MarkConfigured(e step.Event) {
	path := ""
	switch e := e.(type) {
	case config.AppChanged:
		path = store.Under(store.PathApps, e.Name)
	case config.JobChanged:
		path = store.Under(store.PathJobs, e.Name)
	case config.MarkChanged:
		path = e.Path
	case config.DocumentFaulty:
		path = e.Path
	}
	switch dir, name := store.Split(path); dir {
	case store.PathApps, store.PathAppDisabled:
		w.st.AppChanged(name)
		for _, job := range w.st.Config.JobsOf(name) {
			w.st.JobChanged(job)
		}
	case store.PathJobs, store.PathJobDisabled:
		w.st.JobChanged(name)
	}
}

// MarkCluster records whether an event of the cluster changes what users see of the cluster itself.
func (w *Watch) MarkCluster(e cluster.Event) {
	switch e.(type) {
	case cluster.Offers, cluster.Closed, cluster.Rescind, cluster.Failure:
		w.st.ClusterChanged()
	}
}
