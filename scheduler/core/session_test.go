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

// needsTwoAgents gives the three shards of a job 3 CPUs each. They start together, and an agent of 5 or 8 CPUs does
// not have enough room for all of them.
func needsTwoAgents(j *jobs.Config) { j.CPUCount = 3 }

// TestT6OffersEndWithTheirSession checks that no offer is used that the master made before it answered SUBSCRIBE. The
// master would refuse an ACCEPT that names such an offer. A job that would fit with it must wait for other offers.
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
				t.Fatalf("launched with a void offer: %+v", s.accepts)
			}
			s.offer("S2", 5, 8192)
			if got := len(s.answerAccepts()); got != 3 {
				t.Errorf("%d shards were launched with offers of this session, want 3", got)
			}
		})
	}
}

// TestNothingIsHeldWithoutASession checks that no offers are held between two sessions: neither those of the session
// that ended, nor any that its stream delivers later, nor any before the next SUBSCRIBED.
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
	expectNone := func(when string) {
		t.Helper()
		if held := s.core.views.Stats().OffersHeld; held != 0 {
			t.Errorf("%d offers are held %s", held, when)
		}
	}
	s.step(SessionEnded{Session: s.core.subscription.Number(), Reason: "the stream broke"})
	expectNone("after the end of the session")
	s.step(offerOf(s.core.subscription.Number(), "O77", "S2", 5))
	expectNone("that came after the end of the session")
	for len(calls[step.CallSubscribe](s.last)) == 0 {
		s.now = s.wake()
		s.step()
	}
	s.step(offerOf(s.core.subscription.Number(), "O78", "S2", 5))
	expectNone("that came before SUBSCRIBED")
}

// TestT6TheStepInWhichASessionBeginsIsFenced checks the step in which a session begins. A leader that
// slept between its commit and its SUBSCRIBE would kill the next leader's tasks, which it does not know. Such a kill is
// not written, so the step must be fenced.
func TestT6TheStepInWhichASessionBeginsIsFenced(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.core = s.load()
	s.step()
	subscribes := calls[step.CallSubscribe](s.last)
	if len(subscribes) != 1 || !s.last.Fenced {
		t.Fatalf("SUBSCRIBE without a fenced commit before it: %+v", s.last)
	}
	began := SessionBegan{Session: subscribes[0].Session, MasterID: "master-1"}
	unknownTask := ClusterEvent{Session: began.Session,
		Event: cluster.Update{TaskID: "job@-@0@-@READY@-@S1@-@0f8e1a2b-0000-4000-8000-000000000001", AgentID: "S1",
			State: cluster.Running, Source: cluster.FromMaster, Reason: cluster.ReasonReconciliation}}
	if d := s.step(began, unknownTask); len(calls[step.CallKill](d)) != 1 || !d.Fenced {
		t.Fatalf("an unknown task is not killed, or is killed without a fence: %+v", d)
	}
	if s.step(unknownTask); s.last.Fenced {
		t.Error("a later step of the session is fenced, although the SUBSCRIBE of another leader would end the session")
	}
}

// TestAnotherMasterIsTriedAtOnce checks that a change of master ends the pause before the next SUBSCRIBE. The pause
// protects the former master. The news of a change before the last try must not end it.
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
		t.Error("the news of an earlier change ended the pause")
	}
	if d := s.step(MasterChanged{Session: tried}); len(calls[step.CallSubscribe](d)) != 1 {
		t.Error("a change of master did not end the pause")
	}
	if d := s.step(MasterChanged{Session: tried}); len(calls[step.CallSubscribe](d)) != 0 {
		t.Error("a second SUBSCRIBE is sent beside the first")
	}
}

// TestAnOutageIsLoggedNowAndThen checks that a long outage is logged about once a minute, although the ports in its
// reason differ. Another reason must be logged once.
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
		t.Errorf("the outage is logged %d times in 10 minutes", logged)
	}
	logged, begin = 0, s.now
	for s.now.Sub(begin) < time.Minute {
		fail("the master wants credentials")
	}
	if logged != 1 {
		t.Errorf("another reason is logged %d times in a minute, want once", logged)
	}
}

// TestT6TheFirstNeedOfANewLeaderRevives checks that a new leader sends REVIVE when it first needs offers. Mesos removes
// the filters of a framework only when its connection ends, and that of a leader whose host froze may still be open.
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
			t.Fatal("a fire is due, and no offers were requested")
		}
		s.now = s.wake()
		s.step()
	}
	s.now = fire.Add(time.Second)
	s.restart()
	if len(calls[step.CallRevive](s.last)) > 0 {
		return // for the run of the fire that was due
	}
	s.trigger()
	if len(calls[step.CallRevive](s.last)) != 1 {
		t.Errorf("a run waits, and no offers are requested: %+v", s.last.Calls)
	}
}

// offerOf returns the event of an offer that a session delivers.
func offerOf(session int64, id, agent string, cpus float64) Event {
	return ClusterEvent{Session: session, Event: cluster.Offers{Offers: []cluster.Offer{{
		ID: id, AgentID: agent, Hostname: agent, AgentURL: "http://" + agent + ":5051",
		Resources: resources.New(cpus, 8192),
	}}}}
}
