package client

import (
	"context"
	"net/url"
	"strconv"
	"time"
)

// Machine is a machine of the cluster, named by the host name of its agents.
type Machine struct {
	Machine string `json:"machine"`
	// Agents are the ids of its known agents.
	Agents []string `json:"agents"`
	// Cordon is nil if the machine is not cordoned.
	Cordon *Cordon `json:"cordon"`
}

// Cordon is the cordon of a machine: nothing new is placed there.
type Cordon struct {
	Since  time.Time `json:"since"`
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	// Until is the time at which the cordon ends by itself; nil if it does not.
	Until *time.Time `json:"until"`
	// Dead is the time at which the machine was declared dead; nil if it was not.
	Dead *time.Time `json:"dead"`
	// Drain is nil unless the machine is drained too.
	Drain *Drain `json:"drain"`
}

// Drain is the drain of a machine: its tasks move or end.
type Drain struct {
	Since time.Time `json:"since"`
	// Deadline is the time at which the remaining tasks are stopped; nil if they are not.
	Deadline *time.Time `json:"deadline"`
	// Drained is the time since which no task is left; nil while there are tasks.
	Drained *time.Time `json:"drained"`
	// Left contains the first of the remaining tasks, and LeftTotal is the number of all remaining tasks.
	Left      []DrainLeft `json:"left"`
	LeftTotal int         `json:"leftTotal"`
}

// DrainLeft is a task that remains on a machine, and the reason why.
type DrainLeft struct {
	JobName string `json:"jobName"`
	Item    int    `json:"item"`
	Why
}

// Cluster is a page of the cluster's agents, and all cordoned machines.
type Cluster struct {
	AgentsTotal int       `json:"agentsTotal"`
	Agents      []Agent   `json:"agents"`
	Machines    []Machine `json:"machines"`
}

// Agent is an agent of the cluster.
type Agent struct {
	ID       string `json:"id"`
	Hostname string `json:"hostname"`
	// State is nil until the cluster has reported the agent.
	State  *string    `json:"state"`
	Since  *time.Time `json:"since"`
	Cordon *Cordon    `json:"cordon"`
	Tasks  int        `json:"tasks"`
	Note   string     `json:"note"`
}

// MaxAgentsPerPage is the maximum number of agents on a page.
const MaxAgentsPerPage = 500

// Cluster returns a page, counted from 1, of the agents whose id or host name contains a text.
func (c *Client) Cluster(ctx context.Context, search string, page int) (Answer[Cluster], error) {
	query := url.Values{"page": {strconv.Itoa(page)}, "per_page": {strconv.Itoa(MaxAgentsPerPage)}}
	if search != "" {
		query.Set("search", search)
	}
	return call[Cluster](ctx, c, get("api", "cluster").with(query))
}

// CordonRequest says why and until when nothing new is placed on a machine.
type CordonRequest struct {
	Reason string `json:"reason"`
	// Until is the time at which the cordon ends by itself; nil if it does not.
	Until *time.Time `json:"until,omitempty"`
	// Force cordons a host that the server does not know yet.
	Force bool `json:"force,omitempty"`
}

// Cordon cordons a machine, which is named by its host or by the id of one of its agents.
func (c *Client) Cordon(ctx context.Context, machine string, r CordonRequest) (Answer[Machine], error) {
	return call[Machine](ctx, c, post("api", "agent", machine, "cordon").sending(r))
}

// DrainRequest says why and how a machine is emptied.
type DrainRequest struct {
	CordonRequest
	// DeadlineSeconds is the time after which the remaining tasks are stopped; 0 if they are not.
	DeadlineSeconds int `json:"deadlineSeconds,omitempty"`
}

// Drain cordons a machine and empties it.
func (c *Client) Drain(ctx context.Context, machine string, r DrainRequest) (Answer[Machine], error) {
	return call[Machine](ctx, c, post("api", "agent", machine, "drain").sending(r))
}

// DeadRequest says why a machine is declared dead.
type DeadRequest struct {
	Reason string `json:"reason,omitempty"`
	// Force declares the machine dead even if it has shown a sign of life a moment ago.
	Force bool `json:"force,omitempty"`
}

// DeadMachine is a machine that was declared dead.
type DeadMachine struct {
	Machine
	// AttemptsOver is the number of attempts that the declaration has ended.
	AttemptsOver int `json:"attemptsOver"`
}

// DeclareDead declares that a machine is permanently gone. All attempts on it then count as ended.
func (c *Client) DeclareDead(ctx context.Context, machine string, r DeadRequest) (Answer[DeadMachine], error) {
	return call[DeadMachine](ctx, c, post("api", "agent", machine, "dead").sending(r))
}

// Uncordon ends the cordon of a machine.
func (c *Client) Uncordon(ctx context.Context, machine string) (Answer[Machine], error) {
	return call[Machine](ctx, c, post("api", "agent", machine, "uncordon"))
}
