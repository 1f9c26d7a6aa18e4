// Package reconcile asks the master about tasks whose state may have changed without an update: about all of them in
// each session and every ten minutes, and about those that the master has not reported at growing intervals (rules T6,
// R). It owns no state; package subscription keeps when to ask next. The answers arrive as status updates, and package
// attempts decides what they mean.
package reconcile

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// Reconciler sends reconcile calls to the master (rules T6, R).
type Reconciler struct{ st *state.State }

// New returns a Reconciler for the tasks of st.
func New(st *state.State) Reconciler { return Reconciler{st: st} }

// SendDue sends the questions that are due in this step: about all tasks at every SUBSCRIBED and every
// Options.ReconcileInterval, about those that the master has not reported at growing intervals, and about the tasks of
// agents that are back. It does nothing without a session.
func (r *Reconciler) SendDue() {
	if !r.st.Subscription.Open() {
		return
	}
	r.askAboutReturnedAgents()
	switch {
	case r.st.Subscription.ReconcileAll():
		r.AskAbout(func(*executions.Shard) bool { return true })
		r.st.Call(step.CallReconcile{})
	case r.st.Subscription.AskIsDue():
		r.st.Subscription.RecordAsked(r.AskAbout(func(s *executions.Shard) bool { return !s.Reported() }))
	}
}

// askAboutReturnedAgents asks about tasks that count as unreachable although their agent is registered again, and
// about the orphans there, which block their shards until the master has answered (rule E5).
func (r *Reconciler) askAboutReturnedAgents() {
	back := r.st.Agents.TakeReturned()
	if len(back) == 0 {
		return
	}
	var refs []cluster.TaskRef
	for _, id := range r.st.Executions.TaskIDs() {
		s := r.st.Executions.Ref(id).Shard()
		if s.Live() && s.AcceptSeq() == 0 && !s.Unreachable().IsZero() && r.st.Agents.Registered(s.Agent()) {
			refs = append(refs, cluster.TaskRef{TaskID: s.TaskID(), AgentID: s.Agent()})
		}
	}
	for _, o := range r.st.Orphans.All() {
		if !back[o.Agent] || !r.st.Agents.Registered(o.Agent) {
			continue
		}
		r.st.Orphans.MarkUnreported(o.TaskID)
		ref := cluster.TaskRef{TaskID: o.TaskID, AgentID: o.Agent}
		if r.st.Subscription.IsFormer(&o) { // an answer about the task would be about its framework id only
			ref.TaskID = r.st.Agents.Ask(o.Agent)
		} else {
			r.st.Subscription.AskSoon()
		}
		if !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	r.st.Reconcile(refs)
}

// AskAbout reconciles the live tasks for which want returns true, and all orphans of the present framework id. It
// returns how many of them the master still has to answer. It leaves out a task whose ACCEPT is unanswered, because
// the master would answer that it does not know the task (rule L4).
func (r *Reconciler) AskAbout(want func(*executions.Shard) bool) int {
	var refs []cluster.TaskRef
	for _, id := range r.st.Executions.TaskIDs() {
		if s := r.st.Executions.Ref(id).Shard(); s.Live() && s.AcceptSeq() == 0 && want(s) {
			refs = append(refs, cluster.TaskRef{TaskID: s.TaskID(), AgentID: s.Agent()})
		}
	}
	n := len(refs)
	for _, o := range r.st.Orphans.All() {
		if !r.st.Subscription.IsFormer(&o) {
			refs = append(refs, cluster.TaskRef{TaskID: o.TaskID, AgentID: o.Agent})
			if !o.Reported {
				n++
			}
		}
	}
	r.st.Reconcile(refs)
	return n
}
