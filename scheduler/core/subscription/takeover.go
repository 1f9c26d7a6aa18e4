package subscription

import (
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/agents"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// takeover is the period between the first subscription with a framework id that this scheduler did not make and the
// end of the last task that another scheduler left under it (rule T8). Nothing is launched during that period, because
// it is not known yet which tasks run.
//
// The answers to an implicit reconciliation have no end mark. So the scheduler then reconciles a made-up task id, the
// marker: events keep their order, so the answer about the marker is the end mark. The master gives that answer only
// when all agents have come back, but the answers before it may lack an agent that was still away. So both requests
// are sent a second time. After the second answer the scheduler knows all tasks that are left.
type takeover struct {
	marker          string // the made-up task of the last round
	markersAnswered int
	complete        bool
	nextRequestAt   time.Time
	tries           int
	unknown         map[string]*UnknownTask
	runningPaths    []string // the original's entries of running tasks, to be removed at the end of the takeover
}

// UnknownTask is a task that another scheduler left under the framework id that is being taken over.
type UnknownTask struct {
	ID, Agent string
	// UnreachableSince is the time since which its agent has not answered; zero while it answers.
	UnreachableSince time.Time
	killSent         time.Time
	killTry          int
}

const (
	// maxRequestInterval is the maximum interval between two requests while the master is silent.
	maxRequestInterval = time.Minute
	// minMarkersAnswered is the number of markers that must have been answered.
	minMarkersAnswered = 2
)

// restart repeats reconciliation from the beginning, because answers to an earlier subscription may be lost. It does
// nothing if there is no takeover.
func (t *takeover) restart() {
	if t == nil {
		return
	}
	t.marker, t.markersAnswered, t.complete, t.nextRequestAt, t.tries = "", 0, false, time.Time{}, 0
	for _, task := range t.unknown {
		task.killSent, task.killTry = time.Time{}, 0
	}
}

// InTakeover reports whether a takeover is under way. Nothing may be launched then.
func (s *Subscription) InTakeover() bool { return s.takeover != nil }

// TakeoverWake returns when a takeover needs the next step, zero for never.
func (s *Subscription) TakeoverWake() time.Time {
	if s.takeover == nil {
		return time.Time{}
	}
	return s.takeover.nextRequestAt
}

// Marker returns the id of the made-up task that the master was asked about last in a takeover, "" if none is awaited.
func (s *Subscription) Marker() string {
	if s.takeover == nil {
		return ""
	}
	return s.takeover.marker
}

// TakeoverReason returns why a takeover keeps executions waiting. It must be called only during a takeover.
func (s *Subscription) TakeoverReason() reason.Reason {
	t := s.takeover
	if len(t.unknown) == 0 {
		return reason.TakeoverUnreported()
	}
	// Only ids that name a job are shown, because they can be hidden from users who may not see that job. The log has
	// all ids.
	const limit = 3
	var named []string
	for _, id := range step.SortedKeys(t.unknown) {
		if _, err := jobs.ParseTaskID(id); err == nil && len(named) < limit {
			named = append(named, "task "+id)
		}
	}
	return reason.TakeoverEnding(strings.Join(named, ", "), len(t.unknown)-len(named))
}

// StepTakeover asks the master for unknown tasks and kills them until none is left under the framework id. It is
// called once in each step. When it returns true, the caller calls CompleteTakeover. A task whose agent has not
// answered for Options.UnreachableAfter is passed to abandon (rules E4, E5).
func (s *Subscription) StepTakeover(abandon func(UnknownTask)) (done bool) {
	t := s.takeover
	if t == nil {
		return false
	}
	if !s.open {
		t.nextRequestAt = time.Time{}
		return false
	}
	for _, id := range step.SortedKeys(t.unknown) {
		s.killOrAbandon(t.unknown[id], abandon)
	}
	if t.complete && len(t.unknown) == 0 {
		return true
	}
	if s.shared.Now().Before(t.nextRequestAt) {
		return false
	}
	t.nextRequestAt = s.shared.Now().Add(step.Backoff(s.shared.Opt.MinReconcileInterval, maxRequestInterval, t.tries))
	t.tries++
	var refs []cluster.TaskRef
	for _, id := range step.SortedKeys(t.unknown) {
		refs = append(refs, cluster.TaskRef{TaskID: id, AgentID: t.unknown[id].Agent})
	}
	if len(refs) > 0 {
		s.shared.Call(step.CallReconcile{Tasks: refs})
	}
	if !t.complete {
		t.marker = agents.QuestionPrefix + s.shared.UUID()
		s.shared.Call(step.CallReconcile{})
		s.shared.Call(step.CallReconcile{Tasks: []cluster.TaskRef{{TaskID: t.marker}}})
	}
	return false
}

// killOrAbandon repeats the kill of an unknown task, or passes it to abandon if it has been unreachable for too long
// (rules E4, E5).
func (s *Subscription) killOrAbandon(task *UnknownTask, abandon func(UnknownTask)) {
	if !task.UnreachableSince.IsZero() && s.shared.Now().Sub(task.UnreachableSince) >= s.shared.Opt.UnreachableAfter {
		delete(s.takeover.unknown, task.ID)
		abandon(*task)
		s.shared.Note(step.Note{Kind: step.NoteOrphan, Task: task.ID,
			Detail: "a task of another scheduler; its agent does not answer", Problem: true})
		return
	}
	if step.ResendDue(s.shared.Now(), task.killSent, s.shared.Opt.MinResendInterval, s.shared.Opt.MaxResendInterval,
		task.killTry) {
		task.killSent = s.shared.Now()
		task.killTry++
		s.shared.Kill(task.ID, task.Agent, s.shared.Opt.KillGrace, "it was left by another scheduler")
		s.shared.WakeToResend(task.killTry)
	}
}

// HandleTakeoverUpdate applies an update of an unknown task during a takeover. registered says whether the task's
// agent is registered.
func (s *Subscription) HandleTakeoverUpdate(u cluster.Update, registered bool) {
	t := s.takeover
	if u.TaskID == t.marker {
		t.marker, t.nextRequestAt, t.tries = "", time.Time{}, 0
		t.markersAnswered++
		t.complete = t.markersAnswered >= minMarkersAnswered
		return
	}
	if strings.HasPrefix(u.TaskID, agents.QuestionPrefix) {
		return
	}
	task := t.unknown[u.TaskID]
	switch {
	case u.State == cluster.Unreachable, u.State == cluster.Unknown && !registered:
		if task == nil && u.State == cluster.Unknown {
			return // it answers reconciliation by id: the task has ended, or its agent is permanently gone
		}
		if task == nil {
			task = s.addUnknown(u)
		}
		if task.UnreachableSince.IsZero() {
			task.UnreachableSince = s.shared.SinceReported(u.UnreachableSince)
			s.shared.WakeAt(task.UnreachableSince.Add(s.shared.Opt.UnreachableAfter))
		}
	case u.State.Terminal(), u.State == cluster.Unknown:
		delete(t.unknown, u.TaskID)
	default:
		if task == nil {
			task = s.addUnknown(u)
		}
		task.UnreachableSince, task.killSent, task.killTry = time.Time{}, time.Time{}, 0
		if u.AgentID != "" {
			task.Agent = u.AgentID
		}
	}
}

// addUnknown adds a task that another scheduler has left.
func (s *Subscription) addUnknown(u cluster.Update) *UnknownTask {
	task := &UnknownTask{ID: u.TaskID, Agent: u.AgentID}
	s.takeover.unknown[u.TaskID] = task
	where := ""
	if u.AgentID != "" {
		where = " on agent " + u.AgentID
	}
	s.shared.Note(step.Note{Kind: step.NoteUnknownTaskFound, Task: u.TaskID, Problem: true,
		Detail: "left by another scheduler" + where + "; nothing is launched until it has ended"})
	return task
}

// CompleteTakeover ends a takeover and marks the framework id as this scheduler's. It returns the original's entries
// of running tasks, which may now be removed.
func (s *Subscription) CompleteTakeover() (runningPaths []string) {
	runningPaths = s.DiscardTakeover()
	s.ownFrameworkID, s.ownIDChanged = s.frameworkID, true
	s.shared.Note(step.Note{Kind: step.NoteTakeover,
		Detail: "no task of another scheduler is left under framework id " + s.frameworkID})
	return runningPaths
}

// DiscardTakeover discards the state of a takeover, if there is one. It returns the original's entries of running
// tasks, which may now be removed. Unlike CompleteTakeover, it does not mark the framework id as this scheduler's.
func (s *Subscription) DiscardTakeover() (runningPaths []string) {
	if s.takeover != nil {
		runningPaths = s.takeover.runningPaths
	}
	s.takeover = nil
	return runningPaths
}

// ImportRunning adds an entry of the original that names a running task. taskID is "" for an entry that only groups
// others. It must be called only during a takeover.
func (s *Subscription) ImportRunning(path, taskID string) {
	t := s.takeover
	t.runningPaths = append(t.runningPaths, path)
	if taskID == "" {
		return
	}
	task := &UnknownTask{ID: taskID}
	if id, err := jobs.ParseTaskID(taskID); err == nil {
		task.Agent = id.Agent
	}
	t.unknown[task.ID] = task
}
