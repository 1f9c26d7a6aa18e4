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
	"github.com/elasticjob-go/elasticjob/test/scenario"
)

func (s *scene) cmdOffer(w *scenario.Words) error {
	var runs []string
	if list := w.Option("runs", ""); list != "" {
		for name := range strings.SplitSeq(list, ",") {
			id := s.names.IDs[name]
			if id == "" {
				id = strings.Replace(name, "#", "@-@S1@-@", 1) // of an earlier run of this scheduler
			}
			runs = append(runs, id)
		}
	}
	agent, cpus, mem := w.Next(), w.Number("cpus", 8), w.Number("mem", 8192)
	goes := w.Option("goes-in", "")
	if goes == "" {
		s.report(s.offer(agent, cpus, mem, runs...))
		return nil
	}
	in, err := time.ParseDuration(goes)
	s.offerN++
	s.report(s.step(s.clusterEvent(cluster.Offers{Offers: []cluster.Offer{{ID: fmt.Sprintf("O%d", s.offerN),
		AgentID: agent, Hostname: agent, AgentURL: "http://" + agent + ":5051",
		Resources: resources.New(cpus, mem), ExecutorIDs: runs, Unavailable: s.wall().Add(in)}}})))
	return err
}

func (s *scene) cmdAccept(w *scenario.Words) error {
	if len(s.accepts) == 0 {
		return errors.New("no ACCEPT is under way")
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

// taskID returns the id of the task with that name in the scenario.
func (s *scene) taskID(name string) string {
	if !strings.Contains(name, "#") && s.names.Counts[name+"#"] > 0 {
		name = fmt.Sprintf("%s#%d", name, s.names.Counts[name+"#"])
	}
	if id, ok := s.names.IDs[name]; ok {
		return id
	}
	return name
}

// daemonStatus adds an executor's report of the runs of a daemon's shard.
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
	switch again := len(w.List) > 0 && w.Next() == "again"; {
	case u.Source == cluster.FromMaster:
	case again:
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
	off, err := time.ParseDuration(w.Option("clock", "0s"))
	if err != nil {
		return err
	}
	r := wire.Report{Time: s.wall().Add(off)}
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

// cmdAnswered answers the question about an invented task.
func (s *scene) cmdAnswered(w *scenario.Words) error {
	if len(w.List) > 0 {
		agent, state := w.Next(), cluster.State(w.Next())
		question := s.core.agents.GetOrAdd(agent).Question()
		if question == "" {
			return fmt.Errorf("nothing was asked about agent %s", agent)
		}
		return s.steps(s.clusterEvent(cluster.Update{TaskID: question, AgentID: agent, State: state,
			Source: cluster.FromMaster,
			Reason: cluster.ReasonReconciliation, Timestamp: s.wall()}))
	}
	if s.core.subscription.Marker() == "" {
		return errors.New("no question is open")
	}
	return s.steps(s.clusterEvent(cluster.Update{TaskID: s.core.subscription.Marker(), State: cluster.Unknown,
		Source: cluster.FromMaster,
		Reason: cluster.ReasonReconciliation, Timestamp: s.wall()}))
}
