package views

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/startfailures"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// Facts are the core's data for an overview, in addition to the rows of the jobs.
type Facts struct {
	Subscribed bool
	// Apps are the names of all apps, in no order.
	Apps      []string
	Agents    AgentTotals
	Documents stats.DocumentSizes
	// Ready, Failover, Retry and Daemon count the executions and shards that wait to be launched; see stats.Stats.
	Ready, Failover, Retry, Daemon stats.Queue
	// Problems has the problems other than failed, late and waiting runs.
	Problems []Problem
}

// AgentTotals are sums over the known agents, except those that are AWAY.
type AgentTotals struct {
	Total, Unreachable int
	// Closed counts the agents that answer and take no tasks now, because the cluster places none there, their
	// maintenance has begun or begins soon, or their machine is cordoned.
	Closed int
	// Capacity sums up the totals of the agents, Used the resources in use by executors and tasks of this framework.
	Capacity, Used resources.Amount
}

// ProblemKind is the subject of a Problem.
type ProblemKind string

// Kinds of problems.
const (
	ProblemNotSubscribed    ProblemKind = "NOT_SUBSCRIBED"
	ProblemAgentUnreachable ProblemKind = "AGENT_UNREACHABLE"
	ProblemFaulty           ProblemKind = "FAULTY"
	ProblemStartFailures    ProblemKind = "START_FAILURES"
	ProblemUnnotified       ProblemKind = "UNNOTIFIED"
	ProblemDaemonSilent     ProblemKind = "DAEMON_SILENT"
	ProblemClock            ProblemKind = "CLOCK"
	ProblemMostSilent       ProblemKind = "MOST_SILENT"
	ProblemBlocked          ProblemKind = "BLOCKED"
	ProblemCordoned         ProblemKind = "CORDONED"
)

// Problem is a problem that an operator should look at. Fields that do not apply are empty.
type Problem struct {
	Kind                  ProblemKind
	Job, App, Agent, Path string
	// Count is the number of affected tries, tasks or runs.
	Count int
	// Since is when it began, zero where that is not known.
	Since time.Time
	// Why says what is wrong.
	Why reason.Reason
}

// Counts are totals since the term began, from which rates are calculated.
type Counts struct {
	Launched, Finished, Failed int64
	FireDelay                  stats.Histogram
}

// Counts returns the totals of the term so far. Runs of daemons count as executions do.
func (vs *Views) Counts() Counts {
	s := &vs.st.Numbers
	return Counts{Launched: s.TasksLaunched, Finished: s.ExecutionsFinished + s.DaemonRuns - s.DaemonRunsFailed,
		Failed: s.ExecutionsFailed + s.DaemonRunsFailed, FireDelay: s.FireDelay}
}

// Facts returns the present facts. It iterates over all waiting and running shards.
func (vs *Views) Facts() Facts {
	var s stats.Stats
	vs.measureQueues(&s)
	f := Facts{Subscribed: vs.st.Subscription.Open(), Ready: s.Ready, Failover: s.Failover, Retry: s.Retry,
		Daemon: s.Daemon, Documents: vs.st.Config.DocumentSizes()}
	for name := range vs.st.Config.AllApps() {
		f.Apps = append(f.Apps, name)
	}
	if !f.Subscribed {
		f.add(Problem{Kind: ProblemNotSubscribed, Why: vs.unplacedReason(&executions.Execution{})})
	}
	if until := vs.fires.BehindUntil(); !until.IsZero() {
		f.add(Problem{Kind: ProblemClock, Why: reason.ClockBehind(until)})
	} else if before, after := vs.fires.Leapt(); !after.IsZero() {
		f.add(Problem{Kind: ProblemClock, Since: after, Why: reason.ClockLeapt(before, after)})
	}
	if since, silent, all := vs.silence.MostSilent(); !since.IsZero() {
		f.add(Problem{Kind: ProblemMostSilent, Count: silent, Since: vs.st.Shown(since),
			Why: reason.MostSilent(silent, all)})
	}
	away := vs.awayAgents()
	for _, id := range step.SortedKeys(away) {
		f.add(*away[id])
	}
	for _, c := range vs.blockedJobs() {
		f.add(Problem{Kind: ProblemBlocked, Job: c.Subject, App: vs.st.Config.AppNameOf(c.Subject),
			Since: vs.st.Shown(c.Since), Why: c.Why})
	}
	vs.addCordoned(&f)
	f.Agents = vs.AgentTotals()
	for _, v := range vs.FaultyDocuments() {
		p := Problem{Kind: ProblemFaulty, Path: v.Path, Since: v.Since, Why: vs.st.Config.FaultAt(v.Path).Why()}
		if p.Job = v.Name; v.Kind == "app" {
			p.Job, p.App = "", v.Name
		} else if j := vs.st.Config.Job(v.Name); j != nil && j.Config() != nil {
			p.App = j.Config().AppName
		}
		f.add(p)
	}
	vs.addStartFailures(&f)
	for _, name := range vs.notifications.Jobs() {
		if n, found := vs.notifications.Unsent(name); found {
			p := Problem{Kind: ProblemUnnotified, Job: name, App: vs.st.Config.AppNameOf(name), Count: n.Tries,
				Since: vs.st.Shown(n.Since), Why: reason.FromText(n.Problem)}
			if name == notifications.Operators {
				p.Job = ""
			}
			f.add(p)
		}
	}
	vs.addSilentDaemons(&f)
	return f
}

func (f *Facts) add(p Problem) { f.Problems = append(f.Problems, p) }

// addCordoned adds the cordoned machines, which take no tasks until their cordons end.
func (vs *Views) addCordoned(f *Facts) {
	for _, machine := range vs.st.Machines.Names() {
		m, _ := vs.st.Machines.Get(machine)
		p := Problem{Kind: ProblemCordoned, Agent: machine, Since: vs.st.Shown(m.Since)}
		if ids := vs.st.Agents.OnHost(machine); len(ids) > 0 {
			p.Agent = ids[0]
		}
		switch {
		case !m.Drained.IsZero():
			p.Why = reason.MachineIsDrained(machine)
		case !m.Draining.IsZero():
			p.Count = len(vs.drainer.Left(machine))
			p.Why = reason.MachineDraining(machine, p.Count)
		default:
			p.Why = reason.MachineCordoned(machine, vs.st.Machines.Why(machine))
		}
		f.add(p)
	}
}

// awayAgents returns a problem for each agent that is silent or has unreachable tasks, by the id of the agent.
func (vs *Views) awayAgents() map[string]*Problem {
	away := map[string]*Problem{}
	for _, ref := range vs.st.Executions.AllTasks() {
		s := ref.Shard()
		if s.Unreachable().IsZero() || !s.Live() {
			continue
		}
		p := away[s.Agent()]
		if p == nil {
			p = &Problem{Kind: ProblemAgentUnreachable, Agent: s.Agent()}
			away[s.Agent()] = p
		}
		if since := vs.st.Shown(s.Unreachable()); p.Since.IsZero() || since.Before(p.Since) {
			p.Since = since
		}
		p.Count++
	}
	for id, a := range vs.st.Agents.All() {
		if since := silentSince(a); !since.IsZero() && away[id] == nil {
			away[id] = &Problem{Kind: ProblemAgentUnreachable, Agent: id, Since: vs.st.Shown(since)}
		}
	}
	for id, p := range away {
		if p.Count == 0 {
			p.Why = reason.MachineSilent(machineOf(vs.st.Agents.Get(id)), p.Since, 0)
			continue
		}
		host := ""
		if a := vs.st.Agents.Get(id); a != nil {
			host = a.Host()
		}
		p.Why = reason.AgentAway(host, p.Count)
	}
	return away
}

// AgentTotals returns the sums over the known agents as of now.
func (vs *Views) AgentTotals() (t AgentTotals) {
	for _, a := range vs.st.Agents.All() {
		if a.RemovedForGood() {
			continue
		}
		t.Total++
		switch {
		case !a.Unreachable().IsZero():
			t.Unreachable++
		case a.Closed() != "" || a.Registered() &&
			(vs.st.Agents.InMaintenance(a.ID()) || vs.st.Machines.IsCordoned(a.Host())):
			t.Closed++
		}
		t.Capacity, t.Used = t.Capacity.Plus(vs.UseOf(a).total), t.Used.Plus(a.Own().Used())
	}
	for _, x := range vs.st.Executors.All() {
		t.Used = t.Used.Plus(x.Uses())
	}
	return t
}

// addStartFailures adds the start failures. It leaves out those older than startfailures.Backoff whose app may be
// tried again, but was not.
func (vs *Views) addStartFailures(f *Facts) {
	vs.st.StartFailures.Each(func(app, agent string, s startfailures.Failure) {
		if !s.Until().After(vs.st.Now()) && vs.st.Now().Sub(s.Since) > startfailures.Backoff {
			return
		}
		p := Problem{Kind: ProblemStartFailures, App: app, Agent: agent, Count: s.Tries, Since: vs.st.Shown(s.Since),
			Why: s.Reason}
		if agent == startfailures.EveryAgent {
			last := reason.Reason{}
			if s.Package != "" && !vs.st.StartFailures.IsShared(app) {
				last = s.Reason
			}
			p.Agent, p.Why = "", reason.AppNotFetched(s.WhatFailed(), last)
		}
		f.add(p)
	})
}

// addSilentDaemons adds the daemons with shards whose executors report nothing.
func (vs *Views) addSilentDaemons(f *Facts) {
	for job := range vs.daemons.JobsWithRuns() {
		j := vs.st.Config.Job(job)
		if j == nil || vs.st.Executions.Standing(j.Name()) == nil {
			continue
		}
		p := Problem{Kind: ProblemDaemonSilent, Job: job, App: vs.st.Config.AppNameOf(job)}
		e := vs.st.Executions.Standing(j.Name())
		for i := range e.NumShards() {
			s := e.Shard(i)
			quiet := time.Duration(0)
			if e.Launched() {
				quiet = vs.st.QuietFor(e, s)
			}
			if quiet == 0 {
				continue
			}
			if since := vs.st.Wall().Add(-quiet); p.Since.IsZero() || since.Before(p.Since) {
				p.Since, p.Agent, p.Why = since, s.Agent(), vs.st.QuietNote(e, s)
			}
			p.Count++
		}
		if p.Count > 0 {
			f.add(p)
		}
	}
}
