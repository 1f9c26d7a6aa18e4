package retire

import (
	"time"
)

// ShutDownClosing sends SHUTDOWN to closing executors without an unanswered ACCEPT that have no live task, or are
// silent, and repeats it until they are gone (rules X2, K3). It is called once in each step.
func (r *Retirer) ShutDownClosing() {
	if !r.st.Subscription.Open() {
		return
	}
	for _, x := range r.st.Executors.Closing() {
		if x.Ended() && x.Tasks() == 0 && x.Pending() == 0 {
			r.st.Executors.Remove(x)
			continue
		}
		if x.Tasks() > 0 && !x.Silent() || x.Pending() > 0 || !r.st.Executors.ShutdownIsDue(x) {
			continue
		}
		if settled := x.LastUpdate().Add(ackSettles); settled.After(r.st.Now()) {
			r.st.WakeAt(settled)
			continue
		}
		if x.ShutdownTry() >= shutdownTries && x.Tasks() == 0 {
			// Its end got lost, or its agent is away. The next offer of its agent
			// names it if it lives on (rule X3); until there is one, it may.
			r.probe()
			if r.st.Agents.Registered(x.Agent()) || r.st.Draining() || r.st.Now().Sub(x.ClosedAt()) >= awayKept {
				r.st.Executors.Remove(x)
				continue
			}
		} else if r.st.Draining() && x.ShutdownTry() > 0 && x.Tasks() == 0 {
			// Somebody waits for it, and not for six minutes (rule O4): the next offer tells whether it is only its
			// end that got lost.
			r.probe()
		}
		r.st.Executors.ShutDown(x)
	}
}

// awayKept is how long a closing executor is kept whose agent is away. One that comes back later is ended when its
// agent is next offered.
const awayKept = time.Hour

// shutdownTries is how often SHUTDOWN is sent, over some six minutes in all.
const shutdownTries = 8

// ackSettles is how long an executor's last update must be acknowledged before
// SHUTDOWN leaves: calls can overtake each other (rule X2).
const ackSettles = 50 * time.Millisecond
