package core

import (
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/agents"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// askMost bounds the interval of questions while the master is silent.
const askMost = time.Minute

// roundsToKnow is how many questions must have been answered.
const roundsToKnow = 2

// takeOver asks and kills until the framework id is free of what another left.
func (c *Core) takeOver() {
	t := c.subscription.takeover
	if t == nil {
		return
	}
	if !c.subscription.open {
		t.askAt = time.Time{}
		return
	}
	for _, id := range step.SortedKeys(t.unknown) {
		c.killUnknownTask(t.unknown[id])
	}
	if t.through && len(t.unknown) == 0 {
		c.takenOver()
		return
	}
	if c.Now().Before(t.askAt) {
		return
	}
	t.askAt = c.Now().Add(step.Backoff(c.Opt.ReconcileFirst, askMost, t.tries))
	t.tries++
	var refs []cluster.TaskRef
	for _, id := range step.SortedKeys(t.unknown) {
		refs = append(refs, cluster.TaskRef{TaskID: id, AgentID: t.unknown[id].agent})
	}
	if len(refs) > 0 {
		c.Call(step.CallReconcile{Tasks: refs})
	}
	if !t.through {
		t.question = agents.QuestionPrefix + c.UUID()
		c.Call(step.CallReconcile{})
		c.Call(step.CallReconcile{Tasks: []cluster.TaskRef{{TaskID: t.question}}})
	}
}

// killUnknownTask sends a kill again, or gives a task up that is unreachable for too long
// (rules E4, E5).
func (c *Core) killUnknownTask(f *unknownTask) {
	if !f.unreachable.IsZero() && c.Now().Sub(f.unreachable) >= c.Opt.UnreachableLost {
		delete(c.subscription.takeover.unknown, f.id)
		detail := "a task of another scheduler; its agent does not answer"
		c.orphanUnknownTask(f)
		c.Note(step.Note{Kind: step.NoteOrphan, Task: f.id, Detail: detail, Problem: true})
		return
	}
	if step.ResendDue(c.Now(), f.killSent, c.Opt.ResendFirst, c.Opt.ResendMost, f.killTry) {
		f.killSent = c.Now()
		f.killTry++
		c.Kill(f.id, f.agent, c.Opt.KillGrace, "it was left by another scheduler")
		c.WakeToResend(f.killTry)
	}
}

// takeoverUpdate takes an update of a task that is not ours.
func (c *Core) takeoverUpdate(u cluster.Update) {
	t := c.subscription.takeover
	if u.TaskID == t.question {
		t.question, t.askAt, t.tries = "", time.Time{}, 0
		t.answers++
		t.through = t.answers >= roundsToKnow
		return
	}
	if strings.HasPrefix(u.TaskID, agents.QuestionPrefix) {
		return
	}
	f := t.unknown[u.TaskID]
	switch {
	case u.State == cluster.Unreachable, u.State == cluster.Unknown && !c.agents.Registered(u.AgentID):
		if f == nil && u.State == cluster.Unknown {
			return // it was reconciled by its id: it has ended, or its agent is gone for good
		}
		if f == nil {
			f = c.addUnknownTask(u)
		}
		if f.unreachable.IsZero() {
			f.unreachable = c.SinceReported(u.UnreachableSince)
			c.WakeAt(f.unreachable.Add(c.Opt.UnreachableLost))
		}
	case u.State.Terminal(), u.State == cluster.Unknown:
		delete(t.unknown, u.TaskID)
	default:
		if f == nil {
			f = c.addUnknownTask(u)
		}
		f.unreachable, f.killSent, f.killTry = time.Time{}, time.Time{}, 0
		if u.AgentID != "" {
			f.agent = u.AgentID
		}
	}
}

func (c *Core) addUnknownTask(u cluster.Update) *unknownTask {
	f := &unknownTask{id: u.TaskID, agent: u.AgentID}
	c.subscription.takeover.unknown[u.TaskID] = f
	c.Note(step.Note{Kind: step.NoteUnknownTask, Task: u.TaskID, Detail: "another scheduler left it on agent " + u.AgentID + "; launching waits until it has ended", Problem: true})
	return f
}

// takenOver makes the framework id ours.
func (c *Core) takenOver() {
	c.imports.took(c.subscription.endTakeover()...)
	c.subscription.ours, c.subscription.oursChanged = c.subscription.frameworkID, true
	c.Note(step.Note{Kind: step.NoteTakeover, Detail: "the framework id " + c.subscription.frameworkID + " is taken over: no task of another scheduler is left under it"})
	c.MatchAgain()
	c.flow.reviveToProbe() // its executors are shut down now (rule X3)
}
