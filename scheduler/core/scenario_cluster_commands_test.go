package core

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/test/scenario"
)

func (s *scene) cmdOffer(w *scenario.Words) error {
	var executorIDs []string
	if list := w.Option("runs", ""); list != "" {
		for name := range strings.SplitSeq(list, ",") {
			id := s.names.IDs[name]
			if id == "" {
				id = strings.Replace(name, "#", "@-@S1@-@", 1) // the core has no record of it
			}
			executorIDs = append(executorIDs, id)
		}
	}
	agent, cpus, mem := w.Next(), w.Number("cpus", 8), w.Number("mem", 8192)
	maintenance := w.Option("goes-in", "")
	s.offerCount++
	o := cluster.Offer{ID: fmt.Sprintf("O%d", s.offerCount), AgentID: agent, Hostname: w.Option("host", agent),
		AgentURL: "http://" + agent + ":5051", Resources: resources.New(cpus, mem), ExecutorIDs: executorIDs}
	if maintenance != "" {
		in, err := time.ParseDuration(maintenance)
		if err != nil {
			return err
		}
		o.Unavailable = s.wall().Add(in)
	}
	s.report(s.step(s.clusterEvent(cluster.Offers{Offers: []cluster.Offer{o}})))
	return nil
}

func (s *scene) cmdCordon(w *scenario.Words) error {
	r, err := s.cordonRequest(w)
	if err != nil {
		return err
	}
	return s.steps(Request{Token: 1, Event: r})
}

func (s *scene) cmdDrainMachine(w *scenario.Words) error {
	r := operator.DrainRequested{}
	if text := w.Option("deadline", ""); text != "" {
		limit, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		r.After = limit
	}
	var err error
	if r.CordonRequested, err = s.cordonRequest(w); err != nil {
		return err
	}
	return s.steps(Request{Token: 1, Event: r})
}

// cordonRequest returns the request of a command that cordons a machine.
func (s *scene) cordonRequest(w *scenario.Words) (operator.CordonRequested, error) {
	r := operator.CordonRequested{Machine: w.Next(), Reason: w.Option("why", "its disk fails"), Actor: s.actor}
	if text := w.Option("for", ""); text != "" {
		limit, err := time.ParseDuration(text)
		if err != nil {
			return r, err
		}
		r.Until = s.wall().Add(limit)
	}
	if len(w.List) > 0 {
		r.Force = w.Next() == "unknown"
	}
	return r, nil
}

func (s *scene) cmdDead(w *scenario.Words) error {
	r := operator.DeadRequested{Machine: w.Next(), Reason: w.Option("why", ""), Actor: s.actor}
	if len(w.List) > 0 {
		r.Force = w.Next() == "force"
	}
	return s.steps(Request{Token: 1, Event: r})
}

// reportMachines reports machines as users see them.
func (s *scene) reportMachines(all ...views.MachineView) {
	if len(all) == 0 {
		s.say("no machine is cordoned")
	}
	for _, m := range all {
		text := "not cordoned"
		if c := m.Cordon; c != nil {
			text = fmt.Sprintf("cordoned since %s by %q: %s", c.Since.Format(time.TimeOnly), c.By, c.Reason)
			if c.Dead != nil {
				text += ", dead since " + c.Dead.Format(time.TimeOnly)
			}
			if c.Drain != nil {
				text += ", draining since " + c.Drain.Since.Format(time.TimeOnly)
				if c.Drain.Drained != nil {
					text += ", drained at " + c.Drain.Drained.Format(time.TimeOnly)
				}
			}
			if c.Until != nil {
				text += ", until " + c.Until.Format(time.TimeOnly)
			}
		}
		s.say("machine %s with %s: %s", m.Machine, problem.Counted(len(m.Agents), "agent"), text)
		if m.Cordon != nil && m.Cordon.Drain != nil {
			for _, l := range m.Cordon.Drain.Left {
				s.say("  left, shard %d of %s: %s", l.Item, l.JobName, l.Reason)
			}
		}
	}
}

func (s *scene) cmdAccept(w *scenario.Words) error {
	if len(s.accepts) == 0 {
		return errors.New("no ACCEPT waits for an answer")
	}
	how, session := w.Next(), s.core.subscription.Number()
	var answers []Event
	for _, c := range s.accepts {
		switch how {
		case "answered":
			answers = append(answers, LaunchAnswered{Session: session, Seq: c.Seq, OK: true})
		case "refused":
			answers = append(answers, LaunchAnswered{Session: session, Seq: c.Seq, Message: "refused"})
		}
	}
	if how == "lost" {
		answers = []Event{SessionEnded{Session: session, Reason: "an ACCEPT was not answered"}}
	}
	if len(answers) == 0 {
		return fmt.Errorf("an ACCEPT can't be %q", how)
	}
	s.accepts = nil
	return s.steps(answers...)
}

// taskID returns the id of the task that has a name in the scenario. A name without a number is that of the last
// launch. Any other text is the id of an unknown task.
func (s *scene) taskID(name string) string {
	if !strings.Contains(name, "#") && s.names.Counts[name+"#"] > 0 {
		name = fmt.Sprintf("%s#%d", name, s.names.Counts[name+"#"])
	}
	if id, ok := s.names.IDs[name]; ok {
		return id
	}
	return name
}

// daemonStatus adds what an executor reports of the runs of a daemon's shard, if the command has such options.
func (s *scene) daemonStatus(w *scenario.Words, status *wire.Status) {
	if run := w.Option("run", ""); run != "" {
		state, ago, _ := strings.Cut(run, "@")
		d, err := time.ParseDuration(ago)
		if err != nil {
			w.Err = err
			return
		}
		began := s.wall().Add(-d)
		status.Run = &wire.Run{Number: int64(w.Number("number", float64(began.Unix()))),
			Retried: w.Option("retried", "") != "", Fire: began.Truncate(time.Second),
			Source: string(executions.NormalTrigger), Attempt: 1, State: state, Start: began, Cause: status.Cause}
		if state != wire.RunRunning {
			status.Run.Complete = s.wall()
		}
	}
	runs, failed, skipped := w.Number("runs", 0), w.Number("failed", 0), w.Number("skipped", 0)
	if status.Run != nil || runs+failed+skipped > 0 {
		status.Totals = &wire.Totals{Runs: int64(runs), Failed: int64(failed), Skipped: int64(skipped),
			SkippedAt: s.wall()}
	}
}

func (s *scene) cmdUpdate(w *scenario.Words) error {
	id := s.taskID(w.Next())
	state := cluster.State(w.Next())
	u := cluster.Update{TaskID: id, AgentID: w.Option("on", "S1"), State: state, Message: w.Option("message", ""),
		Timestamp: s.wall()}
	if l, ok := s.tasks[s.names.ByID[id]]; ok {
		parsed, err := jobs.ParseTaskID(id)
		if err != nil {
			return err
		}
		u.AgentID, u.ExecutorID = parsed.Agent, l.Executor.ID
	}
	if reason := w.Option("reason", ""); reason != "" {
		u.Reason = cluster.Reason(reason)
	}
	switch from := w.Option("from", "executor"); from {
	case "executor":
		u.Source = cluster.FromExecutor
	case "agent":
		u.Source = cluster.FromAgent
	case "master":
		u.Source = cluster.FromMaster
	default:
		return fmt.Errorf("no update is from %q", from)
	}
	status := wire.Status{Cause: w.Option("cause", ""), Unreachable: w.Option("unreachable", ""),
		Unanswered: w.Option("unanswered", "") != ""}
	if _, ok := w.Options["exit"]; ok {
		exit := int(w.Number("exit", 0))
		status.ExitStatus = &exit
	}
	status.SupervisorLost = w.Option("supervisor", "") == "lost"
	s.daemonStatus(w, &status)
	if status.Cause != "" || status.ExitStatus != nil || status.SupervisorLost || status.Totals != nil {
		u.Status = &status
	}
	switch isRepeated := len(w.List) > 0 && w.Next() == "again"; {
	case u.Source == cluster.FromMaster: // has no UUID
	case isRepeated:
		u.UUID = s.lastUUID[id]
	default:
		s.updates++
		u.UUID = fmt.Append(nil, "update ", s.updates)
		s.lastUUID[id] = u.UUID
	}
	if state == cluster.Unreachable {
		u.UnreachableSince = s.wall()
	}
	return s.steps(s.clusterEvent(u))
}

func (s *scene) cmdReport(w *scenario.Words) error {
	id := s.names.IDs[w.Next()]
	parsed, err := jobs.ParseExecutorID(id)
	if err != nil {
		return err
	}
	clockError, err := time.ParseDuration(w.Option("clock", "0s"))
	if err != nil {
		return err
	}
	r := wire.Report{Time: s.wall().Add(clockError)}
	if len(w.List) > 0 {
		t := wire.TaskReport{TaskID: s.taskID(w.Next()), Progress: &wire.Progress{At: s.wall()}}
		if t.Progress.Fraction, err = strconv.ParseFloat(w.Next(), 64); err != nil {
			return err
		}
		if len(w.List) > 0 {
			t.Progress.Message = w.Next()
		}
		r.Tasks = append(r.Tasks, t)
	}
	return s.steps(s.clusterEvent(cluster.Message{AgentID: w.Option("from", parsed.Agent), ExecutorID: id,
		Report: &r}))
}

func (s *scene) cmdFailure(w *scenario.Words) error {
	if what := w.Next(); what == "agent" {
		return s.steps(s.clusterEvent(cluster.Failure{AgentID: w.Next()}))
	}
	id := s.names.IDs[w.Next()]
	parsed, err := jobs.ParseExecutorID(id)
	if err != nil {
		return err
	}
	return s.steps(s.clusterEvent(cluster.Failure{AgentID: parsed.Agent, ExecutorID: id, Status: 9}))
}

func (s *scene) cmdSession(w *scenario.Words) error {
	session := s.core.subscription.Number()
	if what := w.Next(); what == "began" {
		return s.steps(SessionBegan{Session: session, MasterID: w.Option("master", "master-1")})
	}
	s.accepts = nil
	removed := len(w.List) > 0 && w.Next() == "removed"
	return s.steps(SessionEnded{Session: session, Reason: w.Option("reason", "the stream broke"), Removed: removed})
}

// cmdAnswered makes the master answer a question about an invented task: whether an agent is registered, or whether it
// has reported everything.
func (s *scene) cmdAnswered(w *scenario.Words) error {
	if len(w.List) > 0 {
		agent, state := w.Next(), cluster.State(w.Next())
		question := s.core.agents.GetOrAdd(agent).Question()
		if question == "" {
			return fmt.Errorf("the core asks nothing about agent %s", agent)
		}
		return s.steps(s.clusterEvent(cluster.Update{TaskID: question, AgentID: agent, State: state,
			Source: cluster.FromMaster, Reason: cluster.ReasonReconciliation, Timestamp: s.wall()}))
	}
	if s.core.subscription.Marker() == "" {
		return errors.New("no question waits for an answer")
	}
	return s.steps(s.clusterEvent(cluster.Update{TaskID: s.core.subscription.Marker(), State: cluster.Unknown,
		Source: cluster.FromMaster, Reason: cluster.ReasonReconciliation, Timestamp: s.wall()}))
}
