package operator

import (
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
)

// Cordon cordons a machine, or changes the reason and the end of its cordon, and returns the name of the machine. It is
// refused for a host name of which no agent is known, unless the request has Force.
func (op *Operator) Cordon(r CordonRequested) (machine string, refused *problem.Error) {
	machine, refused = op.machineOf(r.Machine, r.Force)
	if refused != nil {
		return "", refused
	}
	was, cordoned := op.st.Machines.Get(machine)
	if op.st.Machines.Cordon(machine, r.Actor.Name, r.Reason, r.Until) {
		now, _ := op.st.Machines.Get(machine)
		op.audit.Cordon(r.Actor, machine, was, cordoned, now)
	}
	return machine, nil
}

// Uncordon ends the cordon of a machine, and returns the name of the machine and whether it was cordoned. It is refused
// for a name that is neither a cordoned machine nor one with a known agent.
func (op *Operator) Uncordon(r UncordonRequested) (machine string, changed bool, refused *problem.Error) {
	machine, refused = op.machineOf(r.Machine, false)
	if refused != nil {
		return "", false, refused
	}
	was, _ := op.st.Machines.Get(machine)
	if changed = op.st.Machines.Uncordon(machine); changed {
		op.audit.Uncordon(r.Actor, machine, was)
	}
	return machine, changed, nil
}

// machineOf returns the machine that a request names by its host name or by the id of one of its agents. unknown allows
// a host name of which no agent is known.
func (op *Operator) machineOf(name string, unknown bool) (machine string, refused *problem.Error) {
	if op.st.Machines.IsCordoned(name) || len(op.st.Agents.OnHost(name)) > 0 {
		return name, nil
	}
	switch a := op.st.Agents.Get(name); {
	case a != nil && a.Host() != "":
		return a.Host(), nil
	case a != nil:
		return "", problem.Errorf(problem.Conflict, "host_unknown",
			"the host name of agent %q is not known before its next offer: name its host instead", name)
	case unknown:
		return name, nil
	}
	return "", problem.Errorf(problem.NotFound, "machine_not_found",
		"this leader has seen no agent and no host %q: GET /api/cluster lists those that it has seen. To cordon a host before it is seen, add \"force\": true",
		name)
}
