package attempts

import (
	"github.com/elasticjob-go/elasticjob/scheduler/core/daemons"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// SendKill sends a kill of a live task, with the grace of that task, and counts it for the backoff. It does nothing
// while the ACCEPT of the task is unanswered (rule L4) or no session is open; the kill stays wanted and is sent later.
func (as *Attempts) SendKill(ref executions.TaskRef) {
	s := ref.Shard()
	if s.AcceptSeq() != 0 || !as.st.Subscription.Open() {
		return
	}
	as.st.Executions.RecordKillSent(ref)
	grace := as.st.Executions.TaskGrace(ref)
	if s.Drain() {
		grace += daemons.DrainGrace
	}
	as.st.Kill(s.TaskID(), s.Agent(), grace, s.Kill().Or(ref.Exec.Kill()).String())
	as.st.WakeToResend(s.KillTry())
}

// ResendKills repeats wanted kills with backoff, because the master keeps no kill for an agent that is away (K1). It
// may be called in every step.
func (as *Attempts) ResendKills() {
	if !as.st.Subscription.Open() || as.st.Now().Before(as.killsCheckedAt.Add(as.st.Opt.MinResendInterval/2)) {
		return
	}
	as.killsCheckedAt = as.st.Now()
	for _, id := range as.st.Executions.TaskIDs() {
		ref := as.st.Executions.Ref(id)
		s := ref.Shard()
		if !s.Live() || s.KillSince().IsZero() {
			continue
		}
		if step.ResendDue(as.st.Now(), s.KillSent(), as.st.Opt.MinResendInterval, as.st.Opt.MaxResendInterval,
			s.KillTry()) {
			as.SendKill(ref)
		}
	}
}
