package views

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/agents"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/startfailures"
)

// AgentName has the fields of an agent that a search compares.
type AgentName struct{ ID, Hostname string }

// ClusterFilter selects agents: one page of those whose id or host name contains Search, ignoring case.
type ClusterFilter struct {
	Search string
	// Page counts from 1.
	Page, PerPage int
}

// Of returns the ids of the agents on the page, sorted by host name and then by id, and the number of agents on all
// pages.
func (f ClusterFilter) Of(all []AgentName) (ids []string, total int) {
	search := strings.ToLower(f.Search)
	found := slices.DeleteFunc(slices.Clone(all), func(a AgentName) bool {
		return !strings.Contains(strings.ToLower(a.ID), search) && !strings.Contains(strings.ToLower(a.Hostname),
			search)
	})
	slices.SortFunc(found, func(a, b AgentName) int {
		return cmp.Or(strings.Compare(a.Hostname, b.Hostname), strings.Compare(a.ID, b.ID))
	})
	from := min((f.Page-1)*f.PerPage, len(found))
	for _, a := range found[from:min(from+f.PerPage, len(found))] {
		ids = append(ids, a.ID)
	}
	return ids, len(found)
}

// ClusterView is the cluster as far as this leader knows it. Unknown fields are nil.
type ClusterView struct {
	Subscribed bool `json:"subscribed"`
	// Since is when the present subscription began, and Master the id of its master.
	Since       *time.Time `json:"since"`
	Master      *string    `json:"master"`
	FrameworkID string     `json:"frameworkId"`
	// FrameworkName is filled in by the API, like AgentsTotal.
	FrameworkName string `json:"frameworkName"`
	// AgentsTotal counts the agents on all pages. Views leaves it to the caller, who knows the filter.
	AgentsTotal int `json:"agentsTotal"`
	// CPUs and MemoryMB are sums over all agents whose amounts are known, except those that are AWAY.
	CPUs       UseView `json:"cpus"`
	MemoryMB   UseView `json:"memoryMB"`
	OffersHeld int     `json:"offersHeld"`
	// Agents are the requested agents, Executors the executors on them.
	Agents    []AgentView    `json:"agents"`
	Executors []ExecutorView `json:"executors"`
	// Machines are all cordoned machines, sorted by name, including those without a known agent.
	Machines []MachineView `json:"machines"`
	// StartFailures are those of all agents, at most maxStartFailures, sorted so that the one with the latest next
	// try is first; StartFailuresTotal counts all of them.
	StartFailures      []StartFailureView `json:"startFailures"`
	StartFailuresTotal int                `json:"startFailuresTotal"`
}

// UseView has the amounts of a resource: in total, in use by executors and tasks of this framework, and on offer to it
// (Free). Total is the largest sum of free resources and those in use by this framework that was seen at once, so that
// it leaves out resources that other frameworks have always used.
type UseView struct {
	Total *float64 `json:"total"`
	Used  float64  `json:"used"`
	Free  *float64 `json:"free"`
}

// AgentView is one agent, with the resources and the tasks of this framework on it.
type AgentView struct {
	ID       string `json:"id"`
	Hostname string `json:"hostname"`
	// State is REGISTERED; DRAINING if its maintenance has begun or begins within the hour, or an operator drains its
	// machine; CORDONED if its machine is cordoned; CLOSED if the cluster places no tasks there, as on a node that
	// kubectl has cordoned; UNREACHABLE if it does not answer the master; AWAY if the master no longer has it. It is
	// nil until the master has reported the agent in this subscription.
	State *string    `json:"state"`
	Since *time.Time `json:"since"`
	// Maintenance is the window that the master has planned for it.
	Maintenance *MaintenanceView `json:"maintenance,omitempty"`
	// Cordon is the cordon of its machine.
	Cordon   *CordonView `json:"cordon,omitempty"`
	CPUs     UseView     `json:"cpus"`
	MemoryMB UseView     `json:"memoryMB"`
	Tasks    int         `json:"tasks"`
	// Offer has the held offers of the agent, nil for none.
	Offer *OfferView `json:"offer"`
	// Note says why the agent is CLOSED, and that its clock is wrong; "" for neither.
	Note     string         `json:"note"`
	NoteCode string         `json:"noteCode,omitempty"`
	NoteArgs map[string]any `json:"noteArgs,omitempty"`
}

// MaintenanceView is a window of maintenance; Until is nil if no end was named.
type MaintenanceView struct {
	From  time.Time  `json:"from"`
	Until *time.Time `json:"until"`
}

// OfferView is the sum of all offers of an agent, and since when the first of them is held.
type OfferView struct {
	CPUs     float64   `json:"cpus"`
	MemoryMB float64   `json:"memoryMB"`
	Since    time.Time `json:"since"`
}

// ExecutorView is one executor. CPUs and MemoryMB are its own resources; TasksCPUs and TasksMemoryMB are those that
// its tasks use in addition.
type ExecutorView struct {
	ID    string `json:"id"`
	App   string `json:"app"`
	Agent string `json:"agent"`
	// Generation is the number in its id: an executor that is started later has a larger one.
	Generation int64 `json:"generation"`
	// State is STARTING until an update of one of its tasks arrives, then RUNNING; CLOSING once it is to be ended. An
	// executor that a former leader launched is never STARTING.
	State         string  `json:"state"`
	Tasks         int     `json:"tasks"`
	CPUs          float64 `json:"cpus"`
	MemoryMB      float64 `json:"memoryMB"`
	TasksCPUs     float64 `json:"tasksCpus"`
	TasksMemoryMB float64 `json:"tasksMemoryMB"`
	// Since is when it was launched, or when it began to close if it is CLOSING; nil if a former leader launched
	// it.
	Since      *time.Time `json:"since"`
	LastReport *time.Time `json:"lastReport"`
	// LastHeartbeat is when the last heartbeat of the executor arrived at this leader, nil if none did.
	LastHeartbeat *time.Time `json:"lastHeartbeat"`
	// Note is for operators, "" for none.
	Note     string         `json:"note"`
	NoteCode string         `json:"noteCode,omitempty"`
	NoteArgs map[string]any `json:"noteArgs,omitempty"`
}

// StartFailureView is an app that is kept off an agent or, with a Host and without an agent, off all agents (rules L6,
// L8).
type StartFailureView struct {
	App      string `json:"app"`
	Agent    string `json:"agent"`
	Hostname string `json:"hostname"`
	// Host is the host from which its package could not be fetched; Cause says whether the host was reached.
	Host     string `json:"host"`
	Failures int    `json:"failures"`
	// NotBefore is when it may be tried again; it may have passed.
	NotBefore time.Time `json:"notBefore"`
	// Cause says why it failed, and CauseCode and CauseArgs the same for programs.
	Cause     string         `json:"cause"`
	CauseCode string         `json:"causeCode,omitempty"`
	CauseArgs map[string]any `json:"causeArgs,omitempty"`
}

// AgentDetail is one agent with the executors and tasks of this framework there.
type AgentDetail struct {
	AgentView
	Executors     []ExecutorView     `json:"executors"`
	StartFailures []StartFailureView `json:"startFailures"`
	// Running has at most maxItemsExplained tasks; Tasks counts all of them.
	Running []AgentTaskView `json:"running"`
}

// AgentTaskView is a task on an agent. State is named as in Mesos, without TASK_.
type AgentTaskView struct {
	ExecutionID string               `json:"executionId"`
	JobName     string               `json:"jobName"`
	Item        int                  `json:"item"`
	TaskID      string               `json:"taskId"`
	State       cluster.State        `json:"state"`
	Since       time.Time            `json:"since"`
	Progress    *executions.Progress `json:"progress"`
}

// maxStartFailures bounds how many start failures are listed.
const maxStartFailures = 500

// AgentNames returns the names of all agents, in no order: there may be thousands, and the caller sorts them outside
// of the core's loop.
func (vs *Views) AgentNames() []AgentName {
	out := make([]AgentName, 0, vs.st.Agents.Len())
	for id, a := range vs.st.Agents.All() {
		out = append(out, AgentName{id, a.Host()})
	}
	return out
}

// Cluster returns the known state of the cluster, with those agents of the given ids that are still known.
func (vs *Views) Cluster(ids []string) ClusterView {
	s := vs.st.Subscription
	v := ClusterView{Subscribed: s.Open(), FrameworkID: s.FrameworkID(), OffersHeld: vs.placement.Held().Len(),
		Agents: []AgentView{}, Executors: []ExecutorView{}, Machines: vs.Machines()}
	if s.Open() {
		v.Since, v.Master = vs.shownOrNil(s.Began()), new(s.MasterID())
	}
	totals := vs.AgentTotals()
	all := AgentUse{total: totals.Capacity, used: totals.Used, free: vs.placement.Held().Sum(),
		offered: vs.placement.Held().Len() > 0}
	v.CPUs, v.MemoryMB = all.views()
	for _, id := range ids {
		if a := vs.st.Agents.Get(id); a != nil {
			v.Agents = append(v.Agents, vs.viewAgent(a))
			v.Executors = append(v.Executors, vs.executorsOn(id)...)
		}
	}
	v.StartFailures, v.StartFailuresTotal = vs.startFailures(func(string) bool { return true })
	return v
}

// Agent returns one agent, or a *problem.Error if it was not seen within the last hour.
func (vs *Views) Agent(id string) (AgentDetail, error) {
	a := vs.st.Agents.Get(id)
	if a == nil {
		return AgentDetail{}, problem.Errorf(problem.NotFound, "agent_not_found",
			"there is no agent %q that was seen within the last hour; GET /api/cluster lists those that were",
			id)
	}
	v := AgentDetail{AgentView: vs.viewAgent(a), Executors: vs.executorsOn(id), Running: []AgentTaskView{}}
	v.StartFailures, _ = vs.startFailures(func(agent string) bool { return agent == id })
	for ref := range vs.st.Executions.On(id) {
		if s := ref.Shard(); s.Live() {
			v.Running = append(v.Running,
				AgentTaskView{ExecutionID: ref.Exec.ID(), JobName: ref.Exec.Job(), Item: s.Item(), TaskID: s.TaskID(),
					State: s.ClusterState(), Since: vs.st.Shown(s.Launched()).Truncate(time.Millisecond),
					Progress: s.ShownProgress()})
		}
	}
	slices.SortFunc(v.Running, func(a, b AgentTaskView) int {
		return cmp.Or(strings.Compare(a.JobName, b.JobName), strings.Compare(a.ExecutionID, b.ExecutionID),
			a.Item-b.Item)
	})
	v.Running = v.Running[:min(len(v.Running), maxItemsExplained)]
	return v, nil
}

// viewAgent returns the view of an agent.
func (vs *Views) viewAgent(a *agents.Agent) AgentView {
	v := AgentView{ID: a.ID(), Hostname: a.Host()}
	note := vs.st.Agents.ClockNote(a.ID())
	if a.Closed() != "" {
		note = reason.All(reason.TakesNoTasks(a.Closed()), note)
	}
	v.Note, v.NoteCode, v.NoteArgs = partsOf(note)
	use := vs.UseOf(a)
	v.CPUs, v.MemoryMB = use.views()
	v.Tasks = a.Own().Tasks()
	for _, x := range vs.st.Executors.On(a.ID()) {
		v.Tasks += x.Tasks()
	}
	if use.offered {
		v.Offer = &OfferView{CPUs: use.free.CPUs(), MemoryMB: use.free.MemoryMB(),
			Since: vs.st.Shown(vs.placement.Held().Oldest(a.ID())).UTC().Truncate(time.Millisecond)}
	}
	if !a.MaintenanceStart().IsZero() {
		v.Maintenance = &MaintenanceView{From: a.MaintenanceStart().UTC(), Until: orNil(a.MaintenanceEnd())}
	}
	v.Cordon = vs.viewCordon(a.Host())
	state := ""
	switch {
	case !a.Unreachable().IsZero():
		state, v.Since = "UNREACHABLE", vs.shownOrNil(a.Unreachable())
	case a.Closed() != "":
		state = "CLOSED"
	case a.Registered() && vs.st.Agents.InMaintenance(a.ID()):
		state = "DRAINING"
	case a.Registered() && v.Cordon != nil && v.Cordon.Drain != nil && v.Cordon.Drain.Drained == nil:
		state, v.Since = "DRAINING", &v.Cordon.Drain.Since
	case a.Registered() && v.Cordon != nil:
		state, v.Since = "CORDONED", &v.Cordon.Since
	case a.Registered():
		state, v.Since = "REGISTERED", vs.shownOrNil(a.RegisteredAt())
	case a.RemovedForGood():
		state, v.Since = "AWAY", vs.shownOrNil(a.RemovedAt())
	default:
		return v
	}
	v.State = &state
	return v
}

// executorsOn returns the views of the executors on an agent.
func (vs *Views) executorsOn(agent string) []ExecutorView {
	out := []ExecutorView{}
	for _, x := range vs.st.Executors.On(agent) {
		v := ExecutorView{ID: x.ID(), App: x.App(), Agent: x.Agent(), State: "STARTING", Tasks: x.Tasks(),
			CPUs: x.Resources().CPUs(), MemoryMB: x.Resources().MemoryMB(),
			TasksCPUs: x.Used().CPUs(), TasksMemoryMB: x.Used().MemoryMB(), Since: vs.shownOrNil(x.AddedAt()),
			LastReport: vs.shownOrNil(x.ReportedAt()), LastHeartbeat: vs.shownOrNil(x.HeartbeatAt())}
		if id, err := jobs.ParseExecutorID(x.ID()); err == nil {
			v.Generation = id.N
		}
		switch {
		case x.IsClosing():
			v.State, v.Since = "CLOSING", vs.shownOrNil(x.ClosedAt())
		case x.Ran():
			v.State = "RUNNING"
		}
		note := reason.Reason{}
		switch {
		case x.Unresponsive():
			note = reason.KillUnanswered()
		case x.Quiet():
			last := slices.MaxFunc([]time.Time{x.ReportedAt(), x.LastUpdate()}, time.Time.Compare)
			note = reason.DaemonsUnheard(vs.st.Now().Sub(last).Round(time.Second))
		}
		v.Note, v.NoteCode, v.NoteArgs = partsOf(note)
		out = append(out, v)
	}
	return out
}

// startFailures returns the start failures on the agents that isSelected selects, at most maxStartFailures, and how
// many there are in all.
func (vs *Views) startFailures(isSelected func(agent string) bool) (shown []StartFailureView, total int) {
	shown = []StartFailureView{}
	vs.st.StartFailures.Each(func(appName, agentID string, failure startfailures.Failure) {
		if !isSelected(agentID) {
			return
		}
		v := StartFailureView{App: appName, Agent: agentID, Host: failure.Host, Failures: failure.Tries,
			NotBefore: vs.st.Shown(failure.Until()).UTC().Truncate(time.Millisecond)}
		v.Cause, v.CauseCode, v.CauseArgs = partsOf(failure.Reason)
		if agentID == startfailures.EveryAgent {
			v.Agent = ""
		} else if a := vs.st.Agents.Get(agentID); a != nil {
			v.Hostname = a.Host()
		}
		shown = append(shown, v)
	})
	slices.SortFunc(shown, func(a, b StartFailureView) int {
		return cmp.Or(b.NotBefore.Compare(a.NotBefore), strings.Compare(a.App, b.App),
			strings.Compare(a.Agent, b.Agent))
	})
	return shown[:min(len(shown), maxStartFailures)], len(shown)
}

// AgentUse has the resources of an agent: in total, in use by this framework, and on offer (free), if there is an
// offer.
type AgentUse struct {
	total, used, free resources.Amount
	offered           bool
}

// UseOf returns the use of an agent as of now.
func (vs *Views) UseOf(a *agents.Agent) AgentUse {
	u := AgentUse{used: a.Own().Used(), free: vs.placement.Held().Free(a.ID()),
		offered: !vs.placement.Held().Oldest(a.ID()).IsZero()}
	for _, x := range vs.st.Executors.On(a.ID()) {
		u.used = u.used.Plus(x.Uses())
	}
	if !a.Total().IsZero() {
		u.total = a.Total().Max(u.used)
	}
	return u
}

// views returns the use of CPUs and of memory.
func (u AgentUse) views() (cpus, memory UseView) {
	cpus, memory = UseView{Used: u.used.CPUs()}, UseView{Used: u.used.MemoryMB()}
	if !u.total.IsZero() {
		cpus.Total, memory.Total = new(u.total.CPUs()), new(u.total.MemoryMB())
	}
	if u.offered {
		cpus.Free, memory.Free = new(u.free.CPUs()), new(u.free.MemoryMB())
	}
	return cpus, memory
}

// shownOrNil converts a time of the term to the time that users see; nil for the zero time.
func (vs *Views) shownOrNil(moment time.Time) *time.Time {
	if moment.IsZero() {
		return nil
	}
	return orNil(vs.st.Shown(moment).UTC().Truncate(time.Millisecond))
}

// orNil returns a time in UTC; nil for the zero time.
func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// Total returns the known total of the agent; zero if it is not known.
func (u AgentUse) Total() resources.Amount { return u.total }
