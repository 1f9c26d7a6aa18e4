package scheduler

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/resources"
)

// needsTwoAgents is a job whose three shards of 3 CPUs start together: one agent of 5 or 8 has not enough room.
func needsTwoAgents(j *jobs.Config) { j.CPUCount = 3 }

// offerOf is an offer that a session told of, whichever it was.
func offerOf(session int64, id, agent string, cpus float64) Event {
	return Told{Session: session, Event: cluster.Offers{Offers: []cluster.Offer{{
		ID: id, AgentID: agent, Hostname: agent, AgentURL: "http://" + agent + ":5051",
		Resources: resources.New(cpus, 8192),
	}}}}
}

// TestT6OffersEndWithTheirSession: the master has forgotten every offer that it made before it answered SUBSCRIBE, and
// refuses an ACCEPT that names one. A job that would fit with such an offer waits for others.
func TestT6OffersEndWithTheirSession(t *testing.T) {
	t.Parallel()
	for name, stale := range map[string]func(*stage){
		"of the session that ended": func(s *stage) {
			s.offer("S2", 5, 8192)
			s.resubscribe()
		},
		"before SUBSCRIBED, on the same stream": func(s *stage) {
			s.unsubscribe()
			s.step(offerOf(s.core.session.number, "O77", "S2", 5))
			s.step(SessionBegan{Session: s.core.session.number, MasterID: "master-1"})
		},
		"of the session that ended, told late": func(s *stage) {
			old := s.core.session.number
			s.resubscribe()
			s.step(offerOf(old, "O77", "S2", 5))
		},
		"before a second SUBSCRIBED of one session": func(s *stage) {
			s.offer("S2", 5, 8192)
			s.step(SessionBegan{Session: s.core.session.number, MasterID: "master-1"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.app()
			s.job(needsTwoAgents)
			s.trigger()
			stale(s)
			s.offer("S1", 8, 8192)
			if len(s.accepts) > 0 {
				t.Fatalf("launched with an offer that is void: %+v", s.accepts)
			}
			s.offer("S2", 5, 8192)
			if got := len(s.accepted()); got != 3 {
				t.Errorf("%d shards were launched with offers of this session, want 3", got)
			}
		})
	}
}

// unsubscribe ends the session, and lets the core ask for the next.
func (s *stage) unsubscribe() {
	s.t.Helper()
	s.step(SessionEnded{Session: s.core.session.number, Reason: "the stream broke"})
	for len(calls[CallSubscribe](s.last)) == 0 {
		s.now = s.last.Wake
		s.step()
	}
}

func (s *stage) resubscribe() {
	s.t.Helper()
	s.unsubscribe()
	s.subscribed()
}

// TestNothingIsHeldWithoutASession: neither what was offered before its end, nor what is told of it after that, nor what
// is told before SUBSCRIBED.
func TestNothingIsHeldWithoutASession(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(needsTwoAgents)
	s.trigger()
	s.offer("S2", 5, 8192)
	if held := s.core.Stats().OffersHeld; held != 1 {
		t.Fatalf("%d offers are held, want 1", held)
	}
	none := func(when string) {
		t.Helper()
		if held := s.core.Stats().OffersHeld; held != 0 {
			t.Errorf("%d offers are held %s", held, when)
		}
	}
	s.step(SessionEnded{Session: s.core.session.number, Reason: "the stream broke"})
	none("after the end of the session")
	s.step(offerOf(s.core.session.number, "O77", "S2", 5))
	none("that were told after the end of the session")
	for len(calls[CallSubscribe](s.last)) == 0 {
		s.now = s.last.Wake
		s.step()
	}
	s.step(offerOf(s.core.session.number, "O78", "S2", 5))
	none("that were told before SUBSCRIBED")
}

// TestOffersGoWithTheirAgent: the offers of an agent that was removed are void, also those that are held.
func TestOffersGoWithTheirAgent(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(needsTwoAgents)
	s.trigger()
	s.offer("S2", 5, 8192)
	s.step(s.told(cluster.Failure{AgentID: "S2"}))
	s.offer("S1", 8, 8192)
	if len(s.accepts) > 0 {
		t.Fatalf("launched on an agent that was removed: %+v", s.accepts)
	}
	s.offer("S3", 5, 8192)
	if got := len(s.accepted()); got != 3 {
		t.Errorf("%d shards were launched, want 3", got)
	}
}

// TestX3OffersFromBeforeAnAcceptSayNothing of the executors that it names: while it is not answered, an offer may be
// older than it. An executor that such an offer does not name is there all the same, and is used again.
func TestX3OffersFromBeforeAnAcceptSayNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	s.trigger()
	s.offer("S1", 4, 8192)
	first := s.accepts[0].Accept.Tasks
	s.run(first)
	s.finish(first)
	s.trigger()
	s.offer("S1", 4, 8192) // made before the ACCEPT, told after all of its tasks have ended
	launches := s.accepted()
	if len(launches) != 6 {
		t.Fatalf("%d launches, want 6", len(launches))
	}
	for _, l := range launches[3:] {
		if l.Executor.ID != first[0].Executor.ID {
			t.Errorf("%s runs on %s, though %s is there", l.TaskID, l.Executor.ID, first[0].Executor.ID)
		}
	}
	d := s.offer("S1", 1, 8192, first[0].Executor.ID)
	if got := calls[CallShutdown](d); len(got) > 0 {
		t.Errorf("an executor with tasks is shut down: %+v", got)
	}
}
