package core

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// simulatedMaster is a master in simulated time. It offers free resources once a second and after each REVIVE, as Mesos
// does, and measures how long the core holds its offers.
type simulatedMaster struct {
	taskTime   time.Duration // how long tasks run
	reviveTime time.Duration // the time from a REVIVE to its offers
	revivedAt  time.Time     // the time of the REVIVE whose offers are not sent yet; zero if there is none
	core       *Core
	rnd        rand.Source
	now, began time.Time
	suppressed bool
	agents     []*simulatedAgent
	offered    int                 // the number of offers made
	inbox      []Event             // the events of the next step
	running    []simulatedTask     // by the time of their end
	held       time.Duration       // the time for which offers were held, summed over the agents
	tasks      int                 // the number of launched tasks
	revived    int                 // the number of REVIVEs
	launched   func(taskID string) // if not nil, called for each task
	// hangingPrefix is a prefix of job names. Jobs with this prefix cannot fetch their package, and fail after
	// taskTime. If it is "", all jobs can.
	hangingPrefix string
}

// simulatedAgent is an agent of the simulated master.
type simulatedAgent struct {
	id            string
	free          resources.Amount            // used by no task and no executor
	offers        map[string]resources.Amount // the part of free that is on offer, by the id of the offer
	filtered      resources.Amount            // the part of free that a filter keeps from being offered
	filteredUntil time.Time                   // the end of the filter
	executors     map[string]bool
}

// unoffered returns the free resources that are not on offer.
func (a *simulatedAgent) unoffered() resources.Amount {
	left := a.free
	for _, o := range a.offers {
		left = left.Minus(o)
	}
	return left
}

// endOffers ends offers. The part of them that was not used is filtered until the given time.
func (a *simulatedAgent) endOffers(ids []string, used resources.Amount, until time.Time) {
	var unused resources.Amount
	for _, id := range ids {
		unused = unused.Plus(a.offers[id])
		delete(a.offers, id)
	}
	if unused = unused.Minus(used); !unused.IsZero() {
		a.filtered, a.filteredUntil = unused, until
	}
}

type simulatedTask struct {
	began, ends time.Time
	agent       *simulatedAgent
	task        cluster.TaskLaunch
}

// run lets a duration pass, with the steps that the core requests.
func (p *simulatedMaster) run(d time.Duration) {
	end := p.now.Add(d)
	nextRound := p.now
	for p.now.Before(end) {
		if !p.now.Before(nextRound) {
			p.allocate()
			nextRound = p.now.Add(time.Second)
		}
		if !p.revivedAt.IsZero() && !p.now.Before(p.revivedAt.Add(p.reviveTime)) {
			p.revivedAt = time.Time{}
			p.allocate()
		}
		p.endTasks()
		events := p.inbox
		p.inbox = nil
		decision := p.core.Step(clock.Now{Wall: p.now, Elapsed: p.now.Sub(p.began)}, p.rnd, events)
		for _, call := range decision.Calls {
			p.handle(call)
		}
		next := min(end.Sub(p.now), nextRound.Sub(p.now))
		if len(p.running) > 0 {
			next = min(next, p.running[0].ends.Sub(p.now))
		}
		if !p.revivedAt.IsZero() {
			next = min(next, p.revivedAt.Add(p.reviveTime).Sub(p.now))
		}
		if decision.Wake > 0 {
			next = min(next, decision.Wake-p.now.Sub(p.began))
		}
		if len(p.inbox) > 0 {
			next = 0
		}
		next = max(next, time.Millisecond) // the duration of a commit
		for _, a := range p.agents {
			if len(a.offers) > 0 {
				p.held += next
			}
		}
		p.now = p.now.Add(next)
	}
}

// endTasks reports the ends of the tasks whose time is over, and frees their resources.
func (p *simulatedMaster) endTasks() {
	for len(p.running) > 0 && !p.running[0].ends.After(p.now) {
		t := p.running[0]
		p.running = p.running[1:]
		t.agent.free = t.agent.free.Plus(t.task.Resources)
		u := cluster.Update{TaskID: t.task.TaskID, AgentID: t.agent.id, ExecutorID: t.task.Executor.ID,
			State: cluster.Finished, Source: cluster.FromExecutor, UUID: []byte(t.task.TaskID + "f"),
			Timestamp: p.now}
		status := wire.Status{StartTime: t.began, CompleteTime: p.now}
		if p.hangingPrefix != "" && strings.HasPrefix(t.task.TaskID, p.hangingPrefix) {
			u.State, status = cluster.Failed, wire.Status{Phase: wire.PhaseFetch, Unreachable: "hangs:80",
				Cause: "hangs:80 gave no answer"}
		}
		u.Status = &status
		p.send(u)
	}
}

// send gives the core an event in its next step.
func (p *simulatedMaster) send(e cluster.Event) {
	p.inbox = append(p.inbox, ClusterEvent{Session: p.core.subscription.Number(), Event: e})
}

// allocate offers the free resources of all agents, except filtered ones. It does nothing while offers are suppressed.
func (p *simulatedMaster) allocate() {
	if p.suppressed {
		return
	}
	var offers []cluster.Offer
	for _, a := range p.agents {
		free := a.unoffered()
		if free.CPUMilli <= 0 || p.now.Before(a.filteredUntil) && free.Fits(a.filtered) {
			continue
		}
		p.offered++
		id := fmt.Sprintf("O%d", p.offered)
		a.offers[id] = free
		offers = append(offers, cluster.Offer{ID: id, AgentID: a.id, Hostname: a.id, AgentURL: "http://" + a.id,
			Resources: free, ExecutorIDs: step.SortedKeys(a.executors)})
	}
	if len(offers) > 0 {
		p.send(cluster.Offers{Offers: offers})
	}
}

// handle handles a call of the core.
func (p *simulatedMaster) handle(call step.Call) {
	switch call := call.(type) {
	case step.CallSubscribe:
		p.suppressed = false
		p.inbox = append(p.inbox, SessionBegan{Session: call.Session, MasterID: "m"})
	case step.CallSuppress:
		p.suppressed, p.revivedAt = true, time.Time{}
	case step.CallRevive:
		p.suppressed, p.revivedAt, p.revived = false, p.now, p.revived+1
		for _, a := range p.agents {
			a.filteredUntil = time.Time{}
		}
	case step.CallDecline:
		for _, a := range p.agents {
			for _, id := range call.Offers {
				if _, exists := a.offers[id]; exists {
					a.endOffers([]string{id}, resources.Amount{}, p.now.Add(call.Refuse))
				}
			}
		}
	case step.CallLaunch:
		for _, a := range p.agents {
			if a.id == call.Launch.AgentID {
				p.accept(a, call)
			}
		}
	case step.CallShutdown:
		for _, a := range p.agents {
			if a.id == call.AgentID && a.executors[call.ExecutorID] {
				delete(a.executors, call.ExecutorID)
				a.free = a.free.Plus(executorSize)
				p.send(cluster.Failure{AgentID: a.id, ExecutorID: call.ExecutorID})
			}
		}
	}
}

// executorSize is the size of every app's executor.
var executorSize = resources.New(0.1, 32)

// accept answers an ACCEPT, and runs its tasks on the agent.
func (p *simulatedMaster) accept(a *simulatedAgent, call step.CallLaunch) {
	p.inbox = append(p.inbox, LaunchAnswered{Session: p.core.subscription.Number(), Seq: call.Seq, OK: true})
	var used resources.Amount
	for _, t := range call.Launch.Tasks {
		if !a.executors[t.Executor.ID] {
			a.executors[t.Executor.ID] = true
			used = used.Plus(executorSize)
		}
		used = used.Plus(t.Resources)
		p.tasks++
		if p.launched != nil {
			p.launched(t.TaskID)
		}
		p.running = append(p.running, simulatedTask{p.now, p.now.Add(p.taskTime), a, t})
	}
	a.free = a.free.Minus(used)
	a.endOffers(call.Launch.OfferIDs, used, p.now.Add(call.Launch.Refuse))
}

// newSimulatedMaster returns a master whose agents have room for everything. Its core has 1,000 small jobs, and cron
// returns the cron of the i-th one.
func newSimulatedMaster(b testing.TB, cron func(i int) string) *simulatedMaster {
	b.Helper()
	return newSimulatedJobs(b, 1000, func(i int, j *jobs.Config) { j.Cron = cron(i) })
}

// newSimulatedJobs returns a master whose agents have room for everything. Its core has n jobs of one small shard each,
// with the changes that change makes.
func newSimulatedJobs(b testing.TB, n int, change func(i int, j *jobs.Config)) *simulatedMaster {
	b.Helper()
	p := newSimulatedCluster(b, 20, resources.New(16, 16000), n, change)
	p.run(10 * time.Second) // until the core has subscribed and handled the first offers
	p.held, p.tasks, p.revived = 0, 0, 0
	return p
}

// newSimulatedCluster returns a master with agents of one size, before the first step of its core. The core has n jobs
// of one small shard each, with the changes that change makes.
func newSimulatedCluster(b testing.TB, agents int, size resources.Amount, n int,
	change func(i int, j *jobs.Config)) *simulatedMaster {
	b.Helper()
	p := &simulatedMaster{reviveTime: 10 * time.Millisecond, taskTime: 5 * time.Second,
		core: New(step.DefaultOptions()), rnd: rand.NewPCG(1, 2),
		now: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), suppressed: true}
	for i := range agents {
		p.agents = append(p.agents, &simulatedAgent{id: fmt.Sprintf("S%02d", i), free: size,
			offers: map[string]resources.Amount{}, executors: map[string]bool{}})
	}
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount, a.MemoryMB = "my_app", "http://127.0.0.1/p.tar", "run", 0.1, 32
	stored := Stored{Entries: []registry.Entry{{Path: store.Under(store.PathApps, a.AppName), Value: store.Encode(a)}}}
	a.AppName, a.AppURL = "hanging_app", "http://hangs:80/p.tar"
	stored.Entries = append(stored.Entries,
		registry.Entry{Path: store.Under(store.PathApps, a.AppName), Value: store.Encode(a)})
	a.AppName = "my_app"
	for i := range n {
		j := jobs.Default()
		j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount,
			j.MemoryMB = fmt.Sprintf("job_%03d", i), a.AppName, jobs.Transient, 1, 0.1, 32
		change(i, &j)
		stored.Entries = append(stored.Entries,
			registry.Entry{Path: store.Under(store.PathJobs, j.JobName), Value: store.Encode(j)})
	}
	p.began = p.now
	if err := p.core.Load(p.now, stored); err != nil {
		b.Fatal(err)
	}
	return p
}

// squeeze lets other frameworks use most of the cluster, once the core has measured the capacity of the agents. Then
// it triggers a job that change makes too large for the rest.
func (p *simulatedMaster) squeeze(b testing.TB, change func(*jobs.Config)) {
	b.Helper()
	j := *p.core.config.Job("job_000").Config()
	j.JobName, j.Cron, j.Failover = "squeezed", "", false
	change(&j)
	plan, err := p.core.planRegisterJob(j)
	if err != nil {
		b.Fatal(err)
	}
	p.inbox = append(p.inbox, append(plan.Events,
		Request{Token: 1, Event: operator.TriggerRequested{Job: "job_000"}})...)
	p.run(time.Minute)
	for _, a := range p.agents {
		for _, id := range step.SortedKeys(a.offers) {
			p.send(cluster.Rescind{OfferID: id})
		}
		clear(a.offers)
		a.free = resources.New(4, 16000)
	}
	p.inbox = append(p.inbox, Request{Token: 2, Event: operator.TriggerRequested{Job: "squeezed"}})
	p.held, p.tasks = 0, 0
}
