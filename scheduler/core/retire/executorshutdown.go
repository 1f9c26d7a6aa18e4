package retire

import (
	"time"
)

// ShutDownClosing sends SHUTDOWN to each closing executor that has no unanswered ACCEPT and either no live task or is
// unresponsive, and repeats it until the executor has ended (rules X2, K3). It is called once in each step.
func (r *Retirer) ShutDownClosing() {
	if !r.st.Subscription.Open() {
		return
	}
	for _, x := range r.st.Executors.Closing() {
		if x.Ended() && x.Tasks() == 0 && x.Pending() == 0 {
			r.st.Executors.Remove(x)
			continue
		}
		if x.Tasks() > 0 && !x.Unresponsive() || x.Pending() > 0 || !r.st.Executors.ShutdownIsDue(x) {
			continue
		}
		if acknowledged := x.LastUpdate().Add(ackDelay); acknowledged.After(r.st.Now()) {
			r.st.WakeAt(acknowledged)
			continue
		}
		if x.ShutdownTry() >= maxShutdownTries && x.Tasks() == 0 {
			// The report of its end was lost, or its agent is away. If the executor still runs, the next offer of its
			// agent names it (rule X3); until that offer it may be running.
			r.probe()
			if r.st.Agents.Registered(x.Agent()) || r.st.Draining() || r.st.Now().Sub(x.ClosedAt()) >= awayRetention {
				r.st.Executors.Remove(x)
				continue
			}
		} else if r.st.Draining() && x.ShutdownTry() > 0 && x.Tasks() == 0 {
			// The end of the server waits for this executor, but not for six minutes (rule O4). The next offer shows
			// whether only the report of its end was lost.
			r.probe()
		}
		r.st.Executors.ShutDown(x)
	}
}

// awayRetention is how long the record of a closing executor is kept while its agent is away. If the agent comes back
// later, its first offer names the executor, which is then shut down (rule X3).
const awayRetention = time.Hour

// maxShutdownTries is how often SHUTDOWN is sent, over about six minutes in all.
const maxShutdownTries = 8

// ackDelay is how much time must have passed since an executor's last update was acknowledged before SHUTDOWN is sent,
// because calls can overtake each other (rule X2).
const ackDelay = 50 * time.Millisecond
