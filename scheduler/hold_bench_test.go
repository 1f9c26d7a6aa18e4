package scheduler

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
)

// pretended is a master in simulated time that offers what is free once a second, as
// Mesos does, and measures how long its offers are held. Tasks run for five seconds.
type pretended struct {
	core       *Core
	rnd        rand.Source
	now        time.Time
	suppressed bool
	agents     []*pretendedAgent
	offered    int
	inbox      []Event
	ends       []pretendedTask // by time
	held       time.Duration   // of all offers together
	tasks      int
}

type pretendedAgent struct {
	id            string
	free          app.Resources
	offer         string
	since         time.Time
	filteredUntil time.Time
	executors     map[string]bool
}

type pretendedTask struct {
	at    time.Time
	agent *pretendedAgent
	task  cluster.TaskLaunch
}

// run plays for a while, in the steps that the core asks for.
func (p *pretended) run(d time.Duration) {
	end := p.now.Add(d)
	nextRound := p.now
	for p.now.Before(end) {
		if !p.now.Before(nextRound) {
			p.allocate()
			nextRound = p.now.Add(time.Second)
		}
		for len(p.ends) > 0 && !p.ends[0].at.After(p.now) {
			t := p.ends[0]
			p.ends = p.ends[1:]
			t.agent.free = t.agent.free.Plus(app.Resources(t.task.Resources))
			p.tell(cluster.Update{TaskID: t.task.TaskID, AgentID: t.agent.id, ExecutorID: t.task.Executor.ID, State: cluster.Finished, Source: cluster.FromExecutor, UUID: []byte(t.task.TaskID + "f"), Timestamp: p.now})
		}
		events := p.inbox
		p.inbox = nil
		decision := p.core.Step(p.now, p.rnd, events)
		for _, call := range decision.Calls {
			p.take(call)
		}
		next := min(end.Sub(p.now), nextRound.Sub(p.now))
		if len(p.ends) > 0 {
			next = min(next, p.ends[0].at.Sub(p.now))
		}
		if !decision.Wake.IsZero() {
			next = min(next, decision.Wake.Sub(p.now))
		}
		if len(p.inbox) > 0 {
			next = 0
		}
		next = max(next, time.Millisecond) // a commit
		for _, a := range p.agents {
			if a.offer != "" {
				p.held += next
			}
		}
		p.now = p.now.Add(next)
	}
}

func (p *pretended) tell(e cluster.Event) {
	p.inbox = append(p.inbox, Told{Session: p.core.session.number, Event: e})
}

func (p *pretended) allocate() {
	if p.suppressed {
		return
	}
	var made []cluster.Offer
	for _, a := range p.agents {
		if a.offer != "" || p.now.Before(a.filteredUntil) || a.free.CPUMilli <= 0 {
			continue
		}
		p.offered++
		a.offer, a.since = fmt.Sprintf("O%d", p.offered), p.now
		made = append(made, cluster.Offer{ID: a.offer, AgentID: a.id, Hostname: a.id, AgentURL: "http://" + a.id, Resources: cluster.Resources(a.free), ExecutorIDs: sortedKeys(a.executors)})
	}
	if len(made) > 0 {
		p.tell(cluster.Offers{Offers: made})
	}
}

func (p *pretended) take(call Call) {
	switch call := call.(type) {
	case CallSubscribe:
		p.suppressed = false
		p.inbox = append(p.inbox, SessionBegan{Session: call.Session, MasterID: "m"})
	case CallSuppress:
		p.suppressed = true
	case CallRevive:
		p.suppressed = false
		for _, a := range p.agents {
			a.filteredUntil = time.Time{}
		}
		p.allocate()
	case CallDecline:
		for _, a := range p.agents {
			for _, id := range call.Offers {
				if a.offer == id {
					a.offer, a.filteredUntil = "", p.now.Add(call.Refuse)
				}
			}
		}
	case CallAccept:
		for _, a := range p.agents {
			if a.id == call.Accept.AgentID {
				p.accept(a, call)
			}
		}
	case CallShutdown:
		for _, a := range p.agents {
			if a.id == call.AgentID && a.executors[call.ExecutorID] {
				delete(a.executors, call.ExecutorID)
				a.free = a.free.Plus(executorSize)
				p.tell(cluster.Failure{AgentID: a.id, ExecutorID: call.ExecutorID})
			}
		}
	}
}

var executorSize = app.NewResources(0.1, 32)

func (p *pretended) accept(a *pretendedAgent, call CallAccept) {
	a.offer, a.filteredUntil = "", p.now.Add(call.Accept.Refuse)
	p.inbox = append(p.inbox, AcceptAnswered{Session: p.core.session.number, Seq: call.Seq, OK: true})
	for _, t := range call.Accept.Tasks {
		if !a.executors[t.Executor.ID] {
			a.executors[t.Executor.ID] = true
			a.free = a.free.Minus(executorSize)
		}
		a.free = a.free.Minus(app.Resources(t.Resources))
		p.tasks++
		p.ends = append(p.ends, pretendedTask{p.now.Add(5 * time.Second), a, t})
	}
}

// newPretended has 1,000 jobs with a cron each, and agents with much room.
func newPretended(b *testing.B, cron func(i int) string) *pretended {
	b.Helper()
	p := &pretended{core: NewCore(DefaultCoreOptions()), rnd: rand.NewPCG(1, 2), now: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), suppressed: true}
	for i := range 20 {
		p.agents = append(p.agents, &pretendedAgent{id: fmt.Sprintf("S%02d", i), free: app.NewResources(16, 16000), executors: map[string]bool{}})
	}
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount, a.MemoryMB = "my_app", "http://127.0.0.1/p.tar", "run", 0.1, 32
	stored := Stored{[]registry.Entry{{Path: under(pathApps, a.AppName), Value: encode(a)}}}
	for i := range 1000 {
		j := jobs.Default()
		j.JobName, j.AppName, j.JobExecutionType, j.Cron, j.ShardingTotalCount, j.CPUCount, j.MemoryMB = fmt.Sprintf("job_%03d", i), a.AppName, jobs.Transient, cron(i), 1, 0.1, 32
		stored.Entries = append(stored.Entries, registry.Entry{Path: under(pathJobs, j.JobName), Value: encode(j)})
	}
	if err := p.core.Load(p.now, stored); err != nil {
		b.Fatal(err)
	}
	p.run(10 * time.Second) // it has subscribed and settled
	p.held, p.tasks = 0, 0
	return p
}

// squeeze has others take most of the cluster, once we have seen how large its agents are, and has
// a job wait that does not fit into the rest.
func (p *pretended) squeeze(b *testing.B, change func(*jobs.Config)) {
	b.Helper()
	j := *p.core.jobs["job_000"].cfg
	j.JobName, j.Cron, j.Failover = "squeezed", "", false
	change(&j)
	plan, err := p.core.planRegisterJob(j)
	if err != nil {
		b.Fatal(err)
	}
	p.inbox = append(p.inbox, append(plan.events, TriggerAsked{Token: 1, Job: "job_000"})...)
	p.run(time.Minute)
	for _, a := range p.agents {
		if a.offer != "" {
			p.tell(cluster.Rescind{OfferID: a.offer})
		}
		a.offer, a.free = "", app.NewResources(4, 16000)
	}
	p.inbox = append(p.inbox, TriggerAsked{Token: 2, Job: "squeezed"})
	p.held, p.tasks = 0, 0
}

// BenchmarkOffersHeld shows how much of the cluster's offers is held: the share of time
// that an agent's offer is with us. Promise 6: idle, none is.
func BenchmarkOffersHeld(b *testing.B) {
	idle := func(i int) string { return fmt.Sprintf("%d %d 3 1 1 ?", i%60, i/60) }
	spread := func(i int) string { return fmt.Sprintf("%d * * * * ?", i%60) }
	large := func(j *jobs.Config) { j.CPUCount = 12 }
	many := func(j *jobs.Config) { j.CPUCount, j.ShardingTotalCount = 1, 200 }
	for _, c := range []struct {
		name  string
		cron  func(int) string
		waits func(*jobs.Config) // a job that waits for room, which others have
	}{
		{"idle", idle, nil},
		{"1000_jobs_a_minute", spread, nil},
		{"1000_jobs_at_once_each_minute", func(int) string { return "0 * * * * ?" }, nil},
		{"a_large_shard_waits", idle, large},
		{"200_shards_wait_for_each_other", idle, many},
		{"1000_jobs_a_minute_beside_a_large_shard", spread, large},
		{"1000_jobs_a_minute_beside_200_shards", spread, many},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				p := newPretended(b, c.cron)
				if c.waits != nil {
					p.squeeze(b, c.waits)
				}
				const minutes = 5
				p.run(minutes * time.Minute)
				share := 100 * p.held.Seconds() / (minutes * time.Minute.Seconds() * float64(len(p.agents)))
				b.ReportMetric(share, "%held")
				b.ReportMetric(float64(p.tasks)/minutes, "tasks/min")
				if s := p.core.Stats(); s.FireDelayCount > 0 {
					b.ReportMetric(1000*s.FireDelaySum/float64(s.FireDelayCount), "ms_to_launch")
				}
				if c.name == "idle" && p.held > 0 {
					b.Errorf("offers were held for %s although nothing was due", p.held)
				}
			}
		})
	}
}
