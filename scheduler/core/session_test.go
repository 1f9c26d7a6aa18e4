package core

import (
	"fmt"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// needsTwoAgents is a job whose three shards of 3 CPUs start together: an agent of 5 or 8 CPUs has not enough room.
func needsTwoAgents(j *jobs.Config) { j.CPUCount = 3 }

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
			s.step(offerOf(s.core.subscription.Number(), "O77", "S2", 5))
			s.step(SessionBegan{Session: s.core.subscription.Number(), MasterID: "master-1"})
		},
		"of the session that ended, delivered late": func(s *stage) {
			old := s.core.subscription.Number()
			s.resubscribe()
			s.step(offerOf(old, "O77", "S2", 5))
		},
		"before a second SUBSCRIBED of one session": func(s *stage) {
			s.offer("S2", 5, 8192)
			s.step(SessionBegan{Session: s.core.subscription.Number(), MasterID: "master-1"})
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
			if got := len(s.answerAccepts()); got != 3 {
				t.Errorf("%d shards were launched with offers of this session, want 3", got)
			}
		})
	}
}

// TestNothingIsHeldWithoutASession: neither offers from before its end, nor those that its stream delivers after that,
// nor those that come before SUBSCRIBED.
func TestNothingIsHeldWithoutASession(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(needsTwoAgents)
	s.trigger()
	s.offer("S2", 5, 8192)
	if held := s.core.views.Stats().OffersHeld; held != 1 {
		t.Fatalf("%d offers are held, want 1", held)
	}
	none := func(when string) {
		t.Helper()
		if held := s.core.views.Stats().OffersHeld; held != 0 {
			t.Errorf("%d offers are held %s", held, when)
		}
	}
	s.step(SessionEnded{Session: s.core.subscription.Number(), Reason: "the stream broke"})
	none("after the end of the session")
	s.step(offerOf(s.core.subscription.Number(), "O77", "S2", 5))
	none("that came after the end of the session")
	for len(calls[step.CallSubscribe](s.last)) == 0 {
		s.now = s.wake()
		s.step()
	}
	s.step(offerOf(s.core.subscription.Number(), "O78", "S2", 5))
	none("that came before SUBSCRIBED")
}

// A leader that slept between its commit and its SUBSCRIBE treats the next leader's tasks as unknown. Its decisions
// about them write nothing, so the session requires the fence.
func TestT6NothingASessionTellsIsActedOnUnlessTheTermHeldAfterIt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.core = s.load()
	s.step()
	asked := calls[step.CallSubscribe](s.last)
	if len(asked) != 1 || !s.last.Fenced {
		t.Fatalf("SUBSCRIBE without a fenced commit before it: %+v", s.last)
	}
	began := SessionBegan{Session: asked[0].Session, MasterID: "master-1"}
	unknownTask := ClusterEvent{Session: began.Session,
		Event: cluster.Update{TaskID: "job@-@0@-@READY@-@S1@-@0f8e1a2b-0000-4000-8000-000000000001", AgentID: "S1",
			State: cluster.Running, Source: cluster.FromMaster, Reason: cluster.ReasonReconciliation}}
	if d := s.step(began, unknownTask); len(calls[step.CallKill](d)) != 1 || !d.Fenced {
		t.Fatalf("a task that the next leader launched is killed without a fence: %+v", d)
	}
	if s.step(unknownTask); s.last.Fenced {
		t.Error("what comes later on this session needs no fence: a later SUBSCRIBE would have ended it")
	}
}

// The pause before the next SUBSCRIBE protects a master that refuses; a new master is asked at once.
func TestAnotherMasterIsTriedAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for range 5 { // the pauses have grown
		s.step(SessionEnded{Session: s.core.subscription.Number(), Reason: "connection refused"})
		for len(calls[step.CallSubscribe](s.last)) == 0 {
			s.stepAfter(time.Second)
		}
	}
	tried := s.core.subscription.Number()
	s.step(SessionEnded{Session: tried, Reason: "connection refused"})
	if d := s.step(MasterChanged{Session: tried - 1}); len(calls[step.CallSubscribe](d)) != 0 {
		t.Error("old news ended the pause")
	}
	if d := s.step(MasterChanged{Session: tried}); len(calls[step.CallSubscribe](d)) != 1 {
		t.Error("it waits on")
	}
	if d := s.step(MasterChanged{Session: tried}); len(calls[step.CallSubscribe](d)) != 0 {
		t.Error("a second try beside the first")
	}
}

func TestAnOutageIsLoggedNowAndThen(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	logged := 0
	fail := func(reason string) {
		s.step(SessionEnded{Session: s.core.subscription.Number(), Reason: reason})
		for _, n := range s.last.Notes {
			if n.Kind == step.NoteSession {
				logged++
			}
		}
		for len(calls[step.CallSubscribe](s.last)) == 0 {
			s.stepAfter(time.Second)
		}
	}
	begin := s.now
	for i := 0; s.now.Sub(begin) < 10*time.Minute; i++ {
		fail(fmt.Sprint("read tcp 127.0.0.1:", 40000+i, ": connection refused"))
	}
	if logged < 10 || logged > 14 {
		t.Errorf("logged %d times in 10 minutes", logged)
	}
	logged, begin = 0, s.now
	for s.now.Sub(begin) < time.Minute {
		fail("the master wants credentials")
	}
	if logged != 1 {
		t.Errorf("another reason is logged %d times within %v", logged, time.Minute)
	}
}

// Mesos clears filters when it sees the connection of a framework end. The connection of a leader whose host froze is
// still open when the next one takes over.
func TestT6TheFirstNeedOfANewLeaderRevives(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 1; j.Cron = "0 0/2 * * * ?" })
	s.runFor(time.Minute)
	s.restart()
	fire := time.Date(2026, 11, 21, 8, 2, 0, 0, time.UTC)
	for len(calls[step.CallRevive](s.last)) == 0 {
		if s.now.After(fire) {
			t.Fatal("a fire is due, and nothing was asked for")
		}
		s.now = s.wake()
		s.step()
	}
	s.now = fire.Add(time.Second)
	s.restart()
	if asked := calls[step.CallRevive](s.last); len(asked) > 0 {
		return // for the run that waits
	}
	s.trigger()
	if len(calls[step.CallRevive](s.last)) != 1 {
		t.Errorf("a run waits, and nothing is asked for: %+v", s.last.Calls)
	}
}

// offerOf is an offer of any session.
func offerOf(session int64, id, agent string, cpus float64) Event {
	return ClusterEvent{Session: session, Event: cluster.Offers{Offers: []cluster.Offer{{
		ID: id, AgentID: agent, Hostname: agent, AgentURL: "http://" + agent + ":5051",
		Resources: resources.New(cpus, 8192),
	}}}}
}
