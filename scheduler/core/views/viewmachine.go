package views

import (
	"slices"
	"time"
)

// MachineView is a machine, which is named by the host name of its agents.
type MachineView struct {
	Machine string `json:"machine"`
	// Agents are the ids of its known agents, sorted: usually one.
	Agents []string `json:"agents"`
	// Cordon is nil if the machine is not cordoned.
	Cordon *CordonView `json:"cordon"`
}

// CordonView is the cordon of a machine: nothing new is placed there.
type CordonView struct {
	Since time.Time `json:"since"`
	// By is the user or token that requested it, "" without authentication.
	By     string `json:"by"`
	Reason string `json:"reason"`
	// Until is when it ends by itself; nil for never.
	Until *time.Time `json:"until"`
	// Dead is when an operator declared the machine dead; nil if none has.
	Dead *time.Time `json:"dead"`
	// Drain is nil unless the machine is to be emptied.
	Drain *DrainView `json:"drain"`
}

// DrainView is the drain of a machine.
type DrainView struct {
	Since time.Time `json:"since"`
	// Deadline is when the remaining tasks are stopped; nil for never.
	Deadline *time.Time `json:"deadline"`
	// Drained is since when no task is left; nil while there is one.
	Drained *time.Time `json:"drained"`
	// Left has at most maxLeft of the tasks that are left; LeftTotal counts all.
	Left      []DrainLeftView `json:"left"`
	LeftTotal int             `json:"leftTotal"`
}

// DrainLeftView is a task that is left on a machine, and what holds it up.
type DrainLeftView struct {
	ExecutionID string `json:"executionId"`
	JobName     string `json:"jobName"`
	Item        int    `json:"item"`
	TaskID      string `json:"taskId"`
	Why
}

// maxLeft bounds how many tasks that are left on a machine are listed.
const maxLeft = 100

// DeadView is a machine that was declared dead.
type DeadView struct {
	MachineView
	// AttemptsOver is how many attempts the declaration has ended, including those that were given up before.
	AttemptsOver int `json:"attemptsOver"`
}

// Machine returns a machine. It has neither agents nor a cordon if nothing is known of it.
func (vs *Views) Machine(name string) MachineView {
	return MachineView{Machine: name, Agents: slices.Concat([]string{}, vs.st.Agents.OnHost(name)),
		Cordon: vs.viewCordon(name)}
}

// Machines returns all cordoned machines, sorted by name.
func (vs *Views) Machines() []MachineView {
	out := make([]MachineView, 0, vs.st.Machines.Len())
	for _, name := range vs.st.Machines.Names() {
		out = append(out, vs.Machine(name))
	}
	return out
}

// viewCordon returns the cordon of a machine, nil if it has none.
func (vs *Views) viewCordon(machine string) *CordonView {
	m, cordoned := vs.st.Machines.Get(machine)
	if !cordoned {
		return nil
	}
	v := &CordonView{Since: vs.st.Shown(m.Since).UTC().Truncate(time.Millisecond), By: m.By, Reason: m.Reason,
		Until: orNil(m.Until), Dead: vs.shownOrNil(m.Dead)}
	if m.Draining.IsZero() {
		return v
	}
	left := vs.drainer.Left(machine)
	v.Drain = &DrainView{Since: vs.st.Shown(m.Draining).UTC().Truncate(time.Millisecond),
		Deadline: vs.shownOrNil(m.Deadline), Drained: vs.shownOrNil(m.Drained), Left: []DrainLeftView{},
		LeftTotal: len(left)}
	for _, l := range left[:min(len(left), maxLeft)] {
		v.Drain.Left = append(v.Drain.Left, DrainLeftView{ExecutionID: l.Execution, JobName: l.Job, Item: l.Item,
			TaskID: l.TaskID, Why: WhyOf(l.Why)})
	}
	return v
}
