package operator

import (
	"cmp"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
)

// Cordon cordons a machine, or changes the reason and the end of its cordon, and returns the name of the machine. It is
// refused for a host name without a known agent, unless the request has Force.
func (op *Operator) Cordon(r CordonRequested) (machine string, refused *problem.Error) {
	machine, refused = op.cordonable(r)
	if refused != nil {
		return "", refused
	}
	was, cordoned := op.st.Machines.Get(machine)
	if !r.Until.IsZero() && op.st.InTerm(r.Until).Before(was.Deadline) {
		return "", problem.Errorf(problem.Conflict, "drain_would_end",
			"machine %q is drained with a deadline at %s, and the end of its cordon ends the drain: set until to a later time, or drain it again with another deadline",
			machine, op.st.Shown(was.Deadline).UTC().Format(time.RFC3339))
	}
	if op.st.Machines.Cordon(machine, r.Actor.Name, r.Reason, r.Until) {
		now, _ := op.st.Machines.Get(machine)
		op.audit.Cordon(r.Actor, machine, was, cordoned, now)
	}
	return machine, nil
}

// cordonable returns the machine that a request to cordon names.
func (op *Operator) cordonable(r CordonRequested) (machine string, refused *problem.Error) {
	machine, refused = op.machineOf(r.Machine)
	if m, _ := op.st.Machines.Get(machine); refused == nil && !m.Dead.IsZero() && !r.Until.IsZero() {
		return "", problem.Errorf(problem.Conflict, "machine_dead",
			"machine %q was declared dead, so it stays cordoned until it is uncordoned: leave out until", machine)
	}
	switch {
	case refused == nil || refused.Kind != problem.NotFound:
		return machine, refused
	case r.Force:
		return r.Machine, nil
	}
	refused.Message += `. To cordon a host before it is seen, add "force": true`
	return "", refused
}

// DrainMachine cordons a machine like Cordon, and begins to empty it or changes the deadline of its drain.
func (op *Operator) DrainMachine(r DrainRequested) (machine string, refused *problem.Error) {
	machine, refused = op.cordonable(r.CordonRequested)
	if refused != nil {
		return "", refused
	}
	was, cordoned := op.st.Machines.Get(machine)
	op.st.Machines.Cordon(machine, r.Actor.Name, r.Reason, r.Until)
	op.st.Machines.Drain(machine, r.After)
	now, _ := op.st.Machines.Get(machine)
	op.audit.Drain(r.Actor, machine, was, cordoned, now, r.After)
	return machine, nil
}

// Uncordon ends the cordon of a machine, and returns the name of the machine and whether it was cordoned. It is refused
// for a name that is neither a cordoned machine nor one with a known agent.
func (op *Operator) Uncordon(r UncordonRequested) (machine string, changed bool, refused *problem.Error) {
	machine, refused = op.machineOf(r.Machine)
	if refused != nil {
		return "", false, refused
	}
	was, _ := op.st.Machines.Get(machine)
	if changed = op.st.Machines.Uncordon(machine); changed {
		op.audit.Uncordon(r.Actor, machine, was)
	}
	return machine, changed, nil
}

// heardWindow is for how long a machine must have been silent before it can be declared dead without Force.
const heardWindow = time.Minute

// DeclareDead ends all attempts on a machine, and returns the name of the machine and how many attempts it has ended.
// It is refused while the machine may be alive, unless the request has Force.
func (op *Operator) DeclareDead(r DeadRequested) (machine string, ended int, refused *problem.Error) {
	machine, refused = op.machineOf(r.Machine)
	if refused == nil && !r.Force {
		refused = op.refuseIfAlive(machine)
	}
	if refused != nil {
		return "", 0, refused
	}
	lost, forgotten := op.attempts.DeclareDead(machine, reason.MachineDead(machine, r.Actor.Name))
	if op.st.Machines.DeclareDead(machine, r.Actor.Name, r.Reason) || lost+forgotten > 0 {
		op.audit.Dead(r.Actor, machine, r.Reason, lost, forgotten)
	}
	return machine, lost + forgotten, nil
}

// refuseIfAlive returns an error if the machine was heard within heardWindow, or if this leader has not listened for
// that long.
func (op *Operator) refuseIfAlive(machine string) *problem.Error {
	const force = `add "force": true if you know that none of its processes runs any more`
	var heard time.Time
	for _, id := range op.st.Agents.OnHost(machine) {
		moments := []time.Time{heard, op.st.Agents.Get(id).HeardAt()}
		for _, x := range op.st.Executors.On(id) {
			moments = append(moments, x.HeardAt()) // heartbeats and updates; reports decide nothing (rule X13)
		}
		for ref := range op.st.Executions.On(id) { // a task with its own executor is heard by its requests for leases
			if at := op.st.Leases.AskedAt(ref.Shard().TaskID()); at.After(op.st.Subscription.Began()) {
				moments = append(moments, at)
			}
		}
		heard = slices.MaxFunc(moments, time.Time.Compare)
	}
	if ago := op.st.Now().Sub(heard); !heard.IsZero() && ago < heardWindow {
		return problem.Errorf(problem.Conflict, "machine_heard",
			"machine %q was heard %s ago: repeat this when it has been silent for a minute, or %s", machine,
			ago.Round(time.Second), force)
	}
	if s := op.st.Subscription; !s.Open() || op.st.Now().Sub(s.Began()) < heardWindow {
		return problem.Errorf(problem.Conflict, "machine_unheard",
			"this leader has not listened to the cluster for a minute yet, so machine %q may be alive: repeat this in a minute, or %s",
			machine, force)
	}
	return nil
}

// machineOf returns the machine that a request names by its host name or by the id of one of its agents. It is NotFound
// if neither an agent, nor an orphan, nor a cordon is known of it.
func (op *Operator) machineOf(name string) (machine string, refused *problem.Error) {
	if op.st.Machines.IsCordoned(name) || len(op.st.Agents.OnHost(name)) > 0 {
		return name, nil
	}
	switch a := op.st.Agents.Get(name); {
	case a != nil && a.Host() != "":
		return a.Host(), nil
	case a != nil:
		return "", problem.Errorf(problem.Conflict, "host_unknown",
			"the host name of agent %q is not known before its next offer: name its host instead", name)
	}
	if o, found := op.st.Orphans.OfMachine(name); found { // its agent was forgotten
		return cmp.Or(o.Host, o.Agent), nil
	}
	return "", problem.Errorf(problem.NotFound, "machine_not_found",
		"this leader has seen no agent and no host %q: GET /api/cluster lists those that it has seen",
		name)
}
