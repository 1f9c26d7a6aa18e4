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
// Implicit reconciliation has no last answer. So it is followed by a question about an invented task, whose answer
// comes after the others because events keep their order. The master answers that question only when it no longer
// waits for any agent to come back. Its earlier answers may lack such an agent, so after the first answer everything
// is asked once more. After the second answer all unknown tasks are known.
type takeover struct {
	question string // the invented task of the last round
	answers  int
	complete bool
	askAt    time.Time
	tries    int
	unknown  map[string]*UnknownTask
	running  []string // entries of the original that name running tasks
}

// UnknownTask is a task that another scheduler left under the framework id that is being taken over.
type UnknownTask struct {
	ID, Agent string
	// Unreachable is since when its agent has not answered, zero while it does.
	Unreachable time.Time
	killSent    time.Time
	killTry     int
}

const (
	// maxAskInterval is the maximum interval between two questions while the master is silent.
	maxAskInterval = time.Minute
	// minAnswers is the number of questions that must have been answered.
	minAnswers = 2
)

// begin restarts the questions with a new subscription.
func (t *takeover) begin() {
	if t == nil {
		return
	}
	t.question, t.answers, t.complete, t.askAt, t.tries = "", 0, false, time.Time{}, 0
	for _, f := range t.unknown {
		f.killSent, f.killTry = time.Time{}, 0
	}
}

// TakingOver reports whether a takeover is under way. Nothing may be launched then.
func (s *Subscription) TakingOver() bool { return s.takeover != nil }

// TakeoverWake returns when a takeover needs the next step, zero for never.
func (s *Subscription) TakeoverWake() time.Time {
	if s.takeover == nil {
		return time.Time{}
	}
	return s.takeover.askAt
}

// Question returns the id of the invented task that the master is being asked about in a takeover, "" if there is
// none.
func (s *Subscription) Question() string {
	if s.takeover == nil {
		return ""
	}
	return s.takeover.question
}

// TakeoverReason returns the reason for which a takeover keeps executions waiting. It must be called only while
// TakingOver.
func (s *Subscription) TakeoverReason() reason.Reason {
	t := s.takeover
	if len(t.unknown) == 0 {
		return reason.TakeoverUnreported()
	}
	// Only ids that name their job are shown, because a user who may not see that job does not see them. The log has
	// all of them.
	const limit = 3
	var named []string
	for _, id := range step.SortedKeys(t.unknown) {
		if _, err := jobs.ParseTaskID(id); err == nil && len(named) < limit {
			named = append(named, "task "+id)
		}
	}
	return reason.TakeoverEnding(strings.Join(named, ", "), len(t.unknown)-len(named))
}

// TakeOver asks the master for unknown tasks and kills them until none is left under the framework id. It is called
// once in each step; when it returns true the caller calls FinishTakeover. A task whose agent has not answered for
// Options.UnreachableAfter is passed to abandon (rules E4, E5).
func (s *Subscription) TakeOver(abandon func(UnknownTask)) (done bool) {
	t := s.takeover
	if t == nil {
		return false
	}
	if !s.open {
		t.askAt = time.Time{}
		return false
	}
	for _, id := range step.SortedKeys(t.unknown) {
		s.killUnknown(t.unknown[id], abandon)
	}
	if t.complete && len(t.unknown) == 0 {
		return true
	}
	if s.shared.Now().Before(t.askAt) {
		return false
	}
	t.askAt = s.shared.Now().Add(step.Backoff(s.shared.Opt.MinReconcileInterval, maxAskInterval, t.tries))
	t.tries++
	var refs []cluster.TaskRef
	for _, id := range step.SortedKeys(t.unknown) {
		refs = append(refs, cluster.TaskRef{TaskID: id, AgentID: t.unknown[id].Agent})
	}
	if len(refs) > 0 {
		s.shared.Call(step.CallReconcile{Tasks: refs})
	}
	if !t.complete {
		t.question = agents.QuestionPrefix + s.shared.UUID()
		s.shared.Call(step.CallReconcile{})
		s.shared.Call(step.CallReconcile{Tasks: []cluster.TaskRef{{TaskID: t.question}}})
	}
	return false
}

// killUnknown repeats the kill of an unknown task, or passes it to abandon if it has been unreachable for too long
// (rules E4, E5).
func (s *Subscription) killUnknown(f *UnknownTask, abandon func(UnknownTask)) {
	if !f.Unreachable.IsZero() && s.shared.Now().Sub(f.Unreachable) >= s.shared.Opt.UnreachableAfter {
		delete(s.takeover.unknown, f.ID)
		abandon(*f)
		s.shared.Note(step.Note{Kind: step.NoteOrphan, Task: f.ID,
			Detail: "a task of another scheduler; its agent does not answer", Problem: true})
		return
	}
	if step.ResendDue(s.shared.Now(), f.killSent, s.shared.Opt.MinResendInterval, s.shared.Opt.MaxResendInterval,
		f.killTry) {
		f.killSent = s.shared.Now()
		f.killTry++
		s.shared.Kill(f.ID, f.Agent, s.shared.Opt.KillGrace, "it was left by another scheduler")
		s.shared.WakeToResend(f.killTry)
	}
}

// TakeoverUpdate applies an update of an unknown task during a takeover. registered says whether the task's agent is
// registered.
func (s *Subscription) TakeoverUpdate(u cluster.Update, registered bool) {
	t := s.takeover
	if u.TaskID == t.question {
		t.question, t.askAt, t.tries = "", time.Time{}, 0
		t.answers++
		t.complete = t.answers >= minAnswers
		return
	}
	if strings.HasPrefix(u.TaskID, agents.QuestionPrefix) {
		return
	}
	f := t.unknown[u.TaskID]
	switch {
	case u.State == cluster.Unreachable, u.State == cluster.Unknown && !registered:
		if f == nil && u.State == cluster.Unknown {
			return // the answer to a reconciliation by id: the task has ended, or its agent is permanently gone
		}
		if f == nil {
			f = s.addUnknown(u)
		}
		if f.Unreachable.IsZero() {
			f.Unreachable = s.shared.SinceReported(u.UnreachableSince)
			s.shared.WakeAt(f.Unreachable.Add(s.shared.Opt.UnreachableAfter))
		}
	case u.State.Terminal(), u.State == cluster.Unknown:
		delete(t.unknown, u.TaskID)
	default:
		if f == nil {
			f = s.addUnknown(u)
		}
		f.Unreachable, f.killSent, f.killTry = time.Time{}, time.Time{}, 0
		if u.AgentID != "" {
			f.Agent = u.AgentID
		}
	}
}

func (s *Subscription) addUnknown(u cluster.Update) *UnknownTask {
	f := &UnknownTask{ID: u.TaskID, Agent: u.AgentID}
	s.takeover.unknown[u.TaskID] = f
	s.shared.Note(step.Note{Kind: step.NoteUnknownTask, Task: u.TaskID, Problem: true,
		Detail: "it was left by another scheduler on agent " + u.AgentID + "; launching waits until it has ended"})
	return f
}

// FinishTakeover ends the takeover and marks the framework id as this scheduler's. It returns the original's entries
// of running tasks, which may now be removed.
func (s *Subscription) FinishTakeover() (running []string) {
	running = s.EndTakeover()
	s.ours, s.oursChanged = s.frameworkID, true
	s.shared.Note(step.Note{Kind: step.NoteTakeover,
		Detail: "no task of another scheduler is left under framework id " + s.frameworkID})
	return running
}

// EndTakeover ends a takeover, if there is one, without taking the framework id over, because that was removed. It
// returns the original's entries of running tasks, which may now be removed.
func (s *Subscription) EndTakeover() (running []string) {
	if s.takeover != nil {
		running = s.takeover.running
	}
	s.takeover = nil
	return running
}

// ImportRunning adds an entry of the original that names a running task, during a takeover only. task is "" for an
// entry that only groups others.
func (s *Subscription) ImportRunning(path, task string) {
	t := s.takeover
	t.running = append(t.running, path)
	if task == "" {
		return
	}
	f := &UnknownTask{ID: task}
	if id, err := jobs.ParseTaskID(task); err == nil {
		f.Agent = id.Agent
	}
	t.unknown[f.ID] = f
}
