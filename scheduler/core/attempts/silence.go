package attempts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// Executors send a heartbeat every wire.HeartbeatInterval. An executor that was not heard for silentAfter is silent:
// it hangs, or its machine is dead or cut off. Its tasks then count as unreachable since it was last heard (rule E4),
// long before the cluster notices. What the master remembers of them is no sign of life.
//
// If most machines are silent at once, the fault is probably on this side. Then no task is given up unless the cluster
// calls its agent unreachable, too.
const (
	silentAfter = 3 * wire.HeartbeatInterval
	// The tasks of at most giveUpBurst machines are given up at once because of silence alone, and then those of one
	// more machine every giveUpInterval.
	giveUpInterval = 10 * time.Second
	giveUpBurst    = 2
	// registerTime is how long agents have to register with a new master, as by default on Mesos
	// (--agent_reregister_timeout).
	registerTime = 10 * time.Minute
	// minAgentsForMajority is the number of agents with tasks below which a silent majority means nothing.
	minAgentsForMajority = 3
)

// silence is what this leader knows of silent executors. None of it is stored: a new leader has to listen itself.
type silence struct {
	// listeningSince is since when this leader has listened without a gap, sweptAt when it last swept.
	listeningSince, sweptAt time.Time
	// judged is set if the last sweep has determined which executors are silent.
	judged bool
	// mostSilent is since when more than half of the agents with tasks are silent, zero if they are not. silent and
	// all are the present numbers of silent agents with tasks, and of all.
	mostSilent  time.Time
	silent, all int
	// givenUp has the silent agents whose tasks may be given up. nextGiveUp is when the interval of the last one ends.
	givenUp    map[string]bool
	nextGiveUp time.Time
}

// heartbeat records a heartbeat of an executor. If the executor is unknown, it is only a sign of life of its orphans.
func (as *Attempts) heartbeat(m cluster.Message) {
	as.askAboutOrphansOf(m.ExecutorID)
	x := as.st.Executors.Get(m.ExecutorID)
	if x == nil || x.Agent() != m.AgentID {
		return
	}
	as.st.Executors.RecordHeartbeat(x)
	as.endSilence(x)
}

// askAboutOrphansOf asks the cluster about the orphans of an executor that was silent and is heard again. They block
// their shards until the cluster has answered.
func (as *Attempts) askAboutOrphansOf(executor string) {
	if as.st.Orphans.MarkHeard(executor) {
		as.st.Subscription.AskSoon()
	}
}

// endSilence records that an executor is not silent: it has sent a heartbeat, an update about any of its tasks, or a
// request for leases. Its tasks are checked even if this leader has not found it silent, because they may have been
// recorded as silent under an earlier leader.
func (as *Attempts) endSilence(x *executors.Executor) {
	if since := x.SilentSince(); !since.IsZero() {
		as.st.Executors.MarkSilent(x, time.Time{})
		as.st.Agents.EndSilence(x.Agent())
		as.st.RequestMatch()
		delete(as.silence.givenUp, x.Agent())
		as.st.Note(step.Note{Kind: step.NoteExecutorHeartbeats,
			Detail: fmt.Sprintf("%s on agent %s is heard again, after %s without a heartbeat", x.ID(), x.Agent(),
				as.st.Now().Sub(since).Round(time.Second))})
	}
	for _, ref := range as.tasksOf(x) {
		if !ref.Shard().Silent() {
			continue
		}
		away := as.st.Now().Sub(ref.Shard().Unreachable()).Round(time.Second)
		if as.st.Executions.MarkHeard(ref) {
			as.recording.Trace(ref, ref.Shard().ClusterState(), event.FromScheduler, "",
				reason.FromText(fmt.Sprintf("agent %s was away for %s", x.Agent(), away)), as.st.Wall(), "")
		}
	}
}

// tasksOf lists the live tasks of an executor, in the order of their ids.
func (as *Attempts) tasksOf(x *executors.Executor) (refs []executions.TaskRef) {
	for ref := range as.st.Executions.On(x.Agent()) {
		if s := ref.Shard(); s.Live() && s.Executor() == x.ID() {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, func(a, b executions.TaskRef) int {
		return strings.Compare(a.Shard().TaskID(), b.Shard().TaskID())
	})
	return refs
}

// detectSilence determines which executors with tasks are silent, and on which agents no such executor is heard. It is
// called in each sweep.
func (as *Attempts) detectSilence() {
	now, sl := as.st.Now(), &as.silence
	if now.Sub(sl.sweptAt) > 2*step.SweepInterval {
		sl.listeningSince = now // this leader is new or stood still, so messages may wait to be read
	}
	sl.sweptAt = now
	if sl.judged = as.canJudgeSilence(); !sl.judged {
		return
	}
	silent, heard := map[string]time.Time{}, map[string]bool{}
	for _, x := range as.st.Executors.Sorted() {
		if !x.Beats() || x.Tasks() == 0 && x.SilentSince().IsZero() && !as.st.Orphans.ExistOn(x.ID()) {
			continue // an idle executor counts only if it was silent before or its tasks were given up
		}
		since := slices.MaxFunc([]time.Time{x.HeardAt(), x.BusySince(), sl.listeningSince}, time.Time.Compare)
		if now.Sub(since) < silentAfter {
			heard[x.Agent()] = true
			if !x.SilentSince().IsZero() {
				as.endSilence(x)
			}
			continue
		}
		as.markSilent(x, since)
		if a := as.st.Agents.Get(x.Agent()); a != nil && (!a.Unreachable().IsZero() || a.RemovedForGood()) {
			continue // the cluster knows that the agent is away
		}
		if silent[x.Agent()].Before(since) {
			silent[x.Agent()] = since
		}
	}
	for id := range heard {
		delete(silent, id)
	}
	if as.st.Agents.ReplaceSilent(silent) {
		as.st.RequestMatch()
	}
	maps.DeleteFunc(sl.givenUp, func(id string, _ bool) bool { return silent[id].IsZero() })
	as.detectMassSilence(len(silent), len(silent)+len(heard))
	as.st.Orphans.ConfirmSilence(func(executor string) bool {
		x := as.st.Executors.Get(executor)
		return x == nil || now.Sub(x.HeardAt()) >= silentAfter
	})
}

// canJudgeSilence reports whether this leader has had a session, and has not stood still, for long enough to call an
// executor silent.
func (as *Attempts) canJudgeSilence() bool {
	now := as.st.Now()
	return as.st.Subscription.Open() && now.Sub(as.st.Subscription.Began()) >= silentAfter &&
		now.Sub(as.silence.listeningSince) >= silentAfter && now.Sub(as.silence.sweptAt) <= 2*step.SweepInterval
}

// markSilent records that an executor is silent, and that its tasks have been unreachable since the given time or, if
// that was later, since their launch. It leaves out tasks whose ACCEPT is unanswered.
func (as *Attempts) markSilent(x *executors.Executor, since time.Time) {
	if x.SilentSince().IsZero() {
		as.st.Executors.MarkSilent(x, since)
		as.st.Note(step.Note{Kind: step.NoteExecutorHeartbeats, Problem: true,
			Detail: fmt.Sprintf("%s on agent %s has sent no heartbeat for %s", x.ID(), x.Agent(),
				as.st.Now().Sub(since).Round(time.Second))})
	}
	for _, ref := range as.tasksOf(x) {
		if s := ref.Shard(); !s.Silent() && s.AcceptSeq() == 0 {
			as.markUnreachable(ref, later(since, s.Launched()))
			as.st.Executions.MarkSilent(ref)
		}
	}
}

// silentFor returns for how long this leader has found the executor of a task silent, 0 if it is not.
func (as *Attempts) silentFor(s *executions.Shard) time.Duration {
	x := as.st.Executors.Get(s.Executor())
	if x == nil || x.SilentSince().IsZero() {
		return 0
	}
	return as.st.Now().Sub(x.SilentSince())
}

// detectMassSilence records whether more than half of the agents with tasks are silent, and logs when that begins.
func (as *Attempts) detectMassSilence(silent, all int) {
	sl := &as.silence
	sl.silent, sl.all = silent, all
	if all < minAgentsForMajority || 2*silent <= all {
		sl.mostSilent = time.Time{}
		return
	}
	if sl.mostSilent.IsZero() {
		sl.mostSilent = as.st.Now()
		as.st.Note(step.Note{Kind: step.NoteExecutorHeartbeats, Problem: true,
			Detail: fmt.Sprintf("%d of %d agents with tasks send no heartbeats: no task is given up unless the cluster calls its agent unreachable", silent, all)})
	}
}

// JudgesSilence reports whether this leader knows which executors are silent: the last sweep has determined that, and
// the session is the same.
func (as *Attempts) JudgesSilence() bool { return as.silence.judged && as.canJudgeSilence() }

// MostSilent returns since when more than half of the agents with tasks are silent, zero if they are not, with the
// present numbers of silent agents and of all.
func (as *Attempts) MostSilent() (since time.Time, silent, all int) {
	return as.silence.mostSilent, as.silence.silent, as.silence.all
}

// mayGiveUp reports whether an unreachable task may be given up. If it counts as unreachable only because its executor
// is silent, most agents must be heard, and no more agents than the limits above allow are given up. Each new agent
// for which mayGiveUp returns true counts towards these limits.
func (as *Attempts) mayGiveUp(s *executions.Shard) bool {
	sl, now := &as.silence, as.st.Now()
	switch {
	case !as.st.OnlySilent(s):
		return true
	case !sl.mostSilent.IsZero(), !as.canJudgeSilence():
		return false
	case sl.givenUp[s.Agent()]:
		return true
	case sl.nextGiveUp.Sub(now) >= giveUpBurst*giveUpInterval:
		return false
	}
	sl.nextGiveUp = later(sl.nextGiveUp, now).Add(giveUpInterval)
	if sl.givenUp == nil {
		sl.givenUp = map[string]bool{}
	}
	sl.givenUp[s.Agent()] = true
	return true
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
