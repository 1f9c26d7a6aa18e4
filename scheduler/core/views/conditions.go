package views

import (
	"cmp"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/agents"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/incidents"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// Silence tells whether most machines are silent at once. Package attempts decides that.
type Silence interface {
	// MostSilent returns since when more than half of the agents with tasks are silent, zero if they are not. silent
	// and all are the present numbers of silent agents with tasks and of all agents with tasks.
	MostSilent() (since time.Time, silent, all int)
}

// Conditions returns the conditions that people are notified of. It iterates over all running shards.
func (vs *Views) Conditions() incidents.Present {
	p := incidents.Present{Presence: vs.presence}
	known, unreachable, usable := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, a := range vs.st.Agents.All() {
		machine := machineOf(a)
		switch {
		case a.RemovedForGood():
			continue
		case !a.Unreachable().IsZero():
			unreachable[machine] = true
		case silentSince(a).IsZero() && a.Registered() && !vs.st.Machines.IsCordoned(machine):
			usable[machine] = true
		}
		known[machine] = true
	}
	p.Machines, p.Unreachable, p.Usable = len(known), len(unreachable), len(usable)
	if since, silent, all := vs.silence.MostSilent(); !since.IsZero() {
		p.Conditions = append(p.Conditions, incidents.Condition{Kind: incidents.MostSilent, Since: since,
			Why: reason.MostSilent(silent, all)})
	}
	p.Conditions = append(p.Conditions, vs.silentMachines()...)
	p.Conditions = append(p.Conditions, vs.blockedJobs()...)
	p.Conditions = append(p.Conditions, vs.drainedMachines()...)
	return p
}

// drainOverdue is how long after the deadline of a drain people are told what is still left on the machine. All tasks
// were to be stopped at the deadline, and most have ended by then.
const drainOverdue = 5 * time.Minute

// drainedMachines returns a condition for each machine whose drain has ended or is overdue, sorted by name. An overdue
// one is left out while the machine is silent, because its silence is a condition of its own.
func (vs *Views) drainedMachines() (found []incidents.Condition) {
	for _, machine := range vs.st.Machines.Draining() {
		c := incidents.Condition{Kind: incidents.MachineDrained, Subject: machine}
		switch m, _ := vs.st.Machines.Get(machine); {
		case !m.Drained.IsZero():
			c.Since, c.Why = m.Drained, reason.MachineIsDrained(machine)
		case m.Deadline.IsZero() || vs.st.Now().Sub(m.Deadline) < drainOverdue || vs.isSilent(machine):
			continue
		default:
			left := vs.drainer.Left(machine)
			if len(left) == 0 {
				continue
			}
			c.Kind, c.Since = incidents.DrainOverdue, m.Deadline
			first := left[0]
			c.Why = reason.DrainOverdue(machine, vs.st.Shown(m.Deadline), len(left), first.Item, first.Job, first.Why)
		}
		found = append(found, c)
	}
	return found
}

// isSilent reports whether an agent of a machine is silent.
func (vs *Views) isSilent(machine string) bool {
	return slices.ContainsFunc(vs.st.Agents.OnHost(machine), func(id string) bool {
		a := vs.st.Agents.Get(id)
		return a != nil && !silentSince(a).IsZero()
	})
}

// machineOf returns the name of an agent's machine: its host name or, as long as that is not known, its id.
func machineOf(a *agents.Agent) string { return cmp.Or(a.Host(), a.ID()) }

// silentSince returns since when an agent is silent, according to the cluster or to its executors; zero if it is not,
// or if the cluster has removed the agent and does not expect it back.
func silentSince(a *agents.Agent) time.Time {
	since := a.Unreachable()
	if !a.Silent().IsZero() && (since.IsZero() || a.Silent().Before(since)) {
		since = a.Silent()
	}
	if a.RemovedForGood() {
		return time.Time{}
	}
	return since
}

// silentMachines returns a condition for each machine with a silent agent, sorted by name, except those that an
// operator declared dead. While most machines are silent, it withholds the conditions of machines that the cluster
// does not call unreachable.
func (vs *Views) silentMachines() (found []incidents.Condition) {
	most, _, _ := vs.silence.MostSilent()
	since, tasks, confirmed := map[string]time.Time{}, map[string]int{}, map[string]bool{}
	for _, a := range vs.st.Agents.All() {
		at := silentSince(a)
		if at.IsZero() || vs.isReplaced(a, at) {
			continue
		}
		machine := machineOf(a)
		if m, marked := vs.st.Machines.Get(machine); marked && !m.Dead.IsZero() {
			continue
		}
		confirmed[machine] = confirmed[machine] || !a.Unreachable().IsZero()
		if s, ok := since[machine]; !ok || at.Before(s) {
			since[machine] = at
		}
		for ref := range vs.st.Executions.On(a.ID()) {
			if s := ref.Shard(); s.Live() && !s.Unreachable().IsZero() {
				tasks[machine]++
			}
		}
	}
	if len(since) == 0 {
		return nil
	}
	for _, o := range vs.st.Orphans.All() {
		if a := vs.st.Agents.Get(o.Agent); a != nil && !since[machineOf(a)].IsZero() {
			tasks[machineOf(a)]++
		}
	}
	for _, machine := range step.SortedKeys(since) {
		found = append(found, incidents.Condition{
			Kind: incidents.MachineSilent, Subject: machine, Since: since[machine],
			Why:      reason.MachineSilent(machine, vs.st.Shown(since[machine]), tasks[machine]),
			Withheld: !most.IsZero() && !confirmed[machine]})
	}
	return found
}

// isReplaced reports whether another agent of the same machine has registered since an agent fell silent: the machine
// is back under another id.
func (vs *Views) isReplaced(a *agents.Agent, silentSince time.Time) bool {
	for _, id := range vs.st.Agents.OnHost(a.Host()) {
		if b := vs.st.Agents.Get(id); b != a && b.Registered() && b.RegisteredAt().After(silentSince) {
			return true
		}
	}
	return false
}

// presence returns what is known of a machine that is not silent.
func (vs *Views) presence(machine string) incidents.Presence {
	ids := vs.st.Agents.OnHost(machine)
	if len(ids) == 0 && vs.st.Agents.Get(machine) != nil {
		ids = []string{machine} // its host name is not known
	}
	p := incidents.Unknown
	for _, id := range ids {
		switch a := vs.st.Agents.Get(id); {
		case a.Registered():
			p = incidents.Heard
		case a.RemovedForGood() && p == incidents.Unknown:
			p = incidents.Gone
		}
	}
	return p
}

// blockedJobs returns a condition for each job that can't go on, sorted by name, because an attempt may still run on
// an agent that does not answer. Either the attempt should have been given up by now and could not be, or it was given
// up and blocks its shard as an orphan. If several attempts block a job, its condition names the one that has done so
// for longest, and of those the one with the lowest task id. While most machines are silent, it withholds the
// conditions of jobs that wait only for attempts with a silent executor.
func (vs *Views) blockedJobs() (found []incidents.Condition) {
	most, _, _ := vs.silence.MostSilent()
	blocked, tasks := map[string]incidents.Condition{}, map[string]string{}
	add := func(job, task string, since time.Time, why reason.Reason, withheld bool) {
		c, ok := blocked[job]
		withheld = withheld && (!ok || c.Withheld)
		if !ok || cmp.Or(since.Compare(c.Since), cmp.Compare(task, tasks[job])) < 0 {
			c = incidents.Condition{Kind: incidents.JobBlocked, Subject: job, Since: since,
				Why: reason.JobBlocked(job, vs.st.Shown(since), why)}
			tasks[job] = task
		}
		c.Withheld = withheld
		blocked[job] = c
	}
	for _, ref := range vs.st.Executions.AllTasks() {
		s := ref.Shard()
		if !s.Live() || s.Unreachable().IsZero() {
			continue
		}
		if since := s.Unreachable().Add(vs.st.Executions.UnreachableAfter(ref.Exec)); !since.After(vs.st.Now()) {
			add(ref.Exec.Job(), s.TaskID(), since,
				vs.liveReason(s).Or(reason.AgentSilent(s.Agent(), vs.st.Shown(s.Unreachable()))),
				!most.IsZero() && vs.st.OnlySilent(s))
		}
	}
	for _, o := range vs.st.Orphans.AllBlocking() {
		if waitsSince := vs.waitsForOrphan(&o); !waitsSince.IsZero() {
			since := slices.MaxFunc([]time.Time{o.Since, o.Away, waitsSince}, time.Time.Compare)
			add(o.Job, o.TaskID, since, vs.orphanReason(&o), false)
		}
	}
	for _, job := range step.SortedKeys(blocked) {
		found = append(found, blocked[job])
	}
	return found
}

// waitsForOrphan returns since when the shard of a blocking orphan, or the next execution of its job, has waited for
// the end of the orphan. It is zero if neither waits.
func (vs *Views) waitsForOrphan(o *orphans.Orphan) (since time.Time) {
	e, j := vs.st.Executions.First(o.Job), vs.st.Config.Job(o.Job)
	switch {
	case e == nil || j == nil || vs.st.HeldBack(e):
	case e.Launched():
		if o.Item < e.NumShards() && e.Shard(o.Item).State() == executions.Waiting {
			if since = e.Shard(o.Item).WaitSince(); since.IsZero() {
				since = e.CreatedAt()
			}
		}
	case vs.st.Config.Inactive(j) == config.Active && o.Item < j.Config().ShardingTotalCount:
		return e.CreatedAt()
	}
	return since
}
