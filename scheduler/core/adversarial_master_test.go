package core

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// TestNoAnswerOfTheMasterBreaksTheCore sends the core random events that no master should send: offers of agents
// without an id, repeated or empty offers, updates of any task in any state, and answers without a call. Between them
// there are requests of users, restarts, and jumps of the clock. The test checks that nothing panics, that the
// invariants of the core hold, that every waiting shard has a reason, and that a new leader loads the same state.
func TestNoAnswerOfTheMasterBreaksTheCore(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			playAdversarialMaster(t, seed)
		})
	}
}

// playAdversarialMaster plays 400 random events of a seed.
func playAdversarialMaster(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	s := newStage(t)
	s.rnd = rand.NewPCG(seed, 9)
	s.opt.DemandsPerStep = 1 + r.IntN(5)
	s.opt.FiresPerStep = 1 + r.IntN(5)
	s.opt.MaxEnded = r.IntN(5)
	s.opt.MaxQueuedFires = 1 + r.IntN(4)
	s.opt.Strategy = []offers.Strategy{offers.Pack, offers.Spread}[r.IntN(2)]
	s.restart()
	var launches []cluster.TaskLaunch
	var executorIDs []string
	pick := func(texts ...string) string { return texts[r.IntN(len(texts))] }
	randomAgent := func() string { return pick("S1", "S2", "S3", "S4", "", "weird @-@ ü") }
	jobNames := []string{"a", "b", "c", "d", "e"}
	appNames := []string{"x", "y"}
	states := []cluster.State{cluster.Staging, cluster.Starting, cluster.Running, cluster.Killing, cluster.Finished,
		cluster.Failed, cluster.Killed, cluster.Error, cluster.Lost, cluster.Dropped, cluster.Unreachable,
		cluster.Gone, cluster.GoneByOperator, cluster.Unknown, "NEWER", ""}
	steps := 0
	check := func(event string) {
		steps++
		if bad := s.contradiction(); bad != "" {
			t.Fatalf("seed %d step %d after %s: %s", seed, steps, event, bad)
		}
		for _, name := range jobNames {
			if x, err := s.core.views.Explain(name); err == nil {
				for _, w := range x.Waiting {
					if w.Reason == "" {
						t.Fatalf("seed %d after %s: a shard waits without a reason: %+v", seed, event, w)
					}
				}
			}
		}
		if len(s.last.Calls) > 2000 {
			t.Fatalf("seed %d: %d calls in a step after %s", seed, len(s.last.Calls), event)
		}
		for _, c := range calls[step.CallLaunch](s.last) {
			for _, l := range c.Launch.Tasks {
				launches = append(launches, l)
				executorIDs = append(executorIDs, l.Executor.ID)
			}
		}
	}
	randomUpdate := func() cluster.Update {
		u := cluster.Update{TaskID: pick("junk", "", "a@-@0@-@READY@-@S1@-@aa"), AgentID: randomAgent(),
			State: states[r.IntN(len(states))]}
		if len(launches) > 0 && r.IntN(10) > 0 {
			l := launches[max(0, len(launches)-1-r.IntN(12))]
			id, _ := jobs.ParseTaskID(l.TaskID)
			u.TaskID, u.AgentID, u.ExecutorID = l.TaskID, id.Agent, l.Executor.ID
		}
		for _, id := range s.core.agents.IDs() {
			if question := s.core.agents.Get(id).Question(); question != "" && r.IntN(4) == 0 {
				u.TaskID, u.AgentID = question, id
			}
		}
		if q := s.core.subscription.Marker(); q != "" && r.IntN(2) == 0 {
			u.TaskID = q
		}
		u.Source = []cluster.Source{cluster.FromExecutor, cluster.FromAgent, cluster.FromMaster, ""}[r.IntN(4)]
		u.Reason = []cluster.Reason{"", cluster.ReasonReconciliation, cluster.ReasonExecutorTerminated,
			cluster.ReasonAgentReregistered, cluster.ReasonContainerMemory}[r.IntN(5)]
		if r.IntN(2) == 0 {
			u.UUID = []byte{byte(r.IntN(256)), byte(r.IntN(256))}
		}
		u.Timestamp = s.now.Add(time.Duration(r.IntN(100)-50) * time.Minute)
		if r.IntN(3) == 0 {
			u.UnreachableSince = s.now.Add(-time.Duration(r.IntN(20)) * time.Minute)
		}
		return u
	}
	for range 400 {
		switch r.IntN(30) {
		case 0, 1:
			a := app.Default()
			a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount, a.MemoryMB = appNames[r.IntN(2)],
				"http://127.0.0.1/p.tar"+strconv.Itoa(r.IntN(2)), "bin/start.sh", 0.5, 128
			if p, err := s.core.planRegisterApp(a); err == nil {
				s.apply(p, nil)
			} else if p, err := s.core.planUpdateApp(a.AppName, func(app.Config) (app.Config, error) {
				return a, nil
			}); err == nil && r.IntN(3) == 0 {
				s.apply(p, nil)
			}
			check("app")
		case 2, 3, 4:
			j := jobs.Default()
			j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount,
				j.MemoryMB = jobNames[r.IntN(5)], appNames[r.IntN(2)], jobs.Transient, 1+r.IntN(4),
				[]float64{0.5, 1, 6, 50}[r.IntN(4)], 64
			j.Failover, j.Misfire, j.MaxRetries = r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2)
			j.TimeoutSeconds, j.RetryBackoffSeconds, j.KillGraceSeconds = []int{0, 1, 60}[r.IntN(3)],
				[]int{0, 2, 300}[r.IntN(3)], []int{0, 1, 100}[r.IntN(3)]
			j.Cron = []string{"", "0/5 * * * * ?", "0/1 * * * * ?", "0 * * * * ?"}[r.IntN(4)]
			if p, err := s.core.planRegisterJob(j); err == nil {
				s.apply(p, nil)
			} else if p, err := s.core.planUpdateJob(j.JobName, func(jobs.Config) (jobs.Config, error) {
				return j, nil
			}); err == nil && r.IntN(3) == 0 {
				s.apply(p, nil)
			}
			check("job")
		case 5:
			var p *config.Planned
			var err error
			switch r.IntN(8) {
			case 6:
				s.step(Request{Token: 4,
					Event: operator.PauseRequested{Job: jobNames[r.IntN(5)], Paused: r.IntN(2) == 0}})
				err = errors.New("planned nothing")
			case 7:
				p, err = s.core.planShutDownJob(jobNames[r.IntN(5)])
			case 0:
				p, err = s.core.planDeregisterJob(jobNames[r.IntN(5)])
			case 1:
				p, err = s.core.planDeleteApp(appNames[r.IntN(2)], true)
			case 2, 3:
				p, err = s.core.planDisableApp(appNames[r.IntN(2)], r.IntN(3) == 0)
			default:
				p, err = s.core.planDisableJob(jobNames[r.IntN(5)], r.IntN(3) == 0)
			}
			if err == nil {
				s.apply(p, nil)
			}
			check("plan")
		case 6, 7, 8:
			s.step(Request{Token: 1, Event: operator.TriggerRequested{Job: jobNames[r.IntN(5)],
				Key: pick("", "", "k1", "k2")}})
			check("trigger")
		case 9, 10, 11, 12, 13:
			var list []cluster.Offer
			for range 1 + r.IntN(3) {
				s.offerCount++
				o := cluster.Offer{ID: fmt.Sprint("O", s.offerCount-r.IntN(2)), AgentID: randomAgent(), Hostname: pick("", "h"),
					Resources: resources.Amount{CPUMilli: int64(r.IntN(9000) - 500),
						MemMilli: int64(r.IntN(9_000_000) - 10000)}}
				for _, x := range s.core.executors.IDs() {
					if s.core.executors.Get(x).Agent() == o.AgentID && r.IntN(5) > 0 {
						o.ExecutorIDs = append(o.ExecutorIDs, x)
					}
				}
				if r.IntN(20) == 0 {
					o.ExecutorIDs = append(o.ExecutorIDs, "junk")
				}
				if r.IntN(20) == 0 {
					o.Unavailable = s.now.Add(time.Duration(r.IntN(200)-100) * time.Minute)
				}
				list = append(list, o)
			}
			s.step(s.clusterEvent(cluster.Offers{Offers: list}))
			check("offers")
		case 14:
			s.step(s.clusterEvent(cluster.Rescind{OfferID: fmt.Sprint("O", r.IntN(s.offerCount+2))}))
			check("rescind")
		case 15, 16, 17, 18, 19, 20, 21:
			s.step(s.clusterEvent(randomUpdate()))
			check("update")
		case 22, 23:
			var answers []Event
			for _, a := range s.accepts {
				if r.IntN(5) > 0 {
					answers = append(answers, LaunchAnswered{Session: s.core.subscription.Number(), Seq: a.Seq,
						OK: r.IntN(5) > 0, Message: "m"})
				}
			}
			s.accepts = nil
			answers = append(answers,
				LaunchAnswered{Session: s.core.subscription.Number(), Seq: int64(r.IntN(50)), OK: true})
			s.step(answers...)
			check("answered")
		case 24:
			f := cluster.Failure{AgentID: randomAgent()}
			if len(executorIDs) > 0 && r.IntN(2) == 0 {
				f.ExecutorID = executorIDs[r.IntN(len(executorIDs))]
			}
			s.step(s.clusterEvent(f))
			check("failure")
		case 25:
			switch r.IntN(8) {
			case 0:
				s.step(SessionEnded{Session: s.core.subscription.Number(), Reason: "x", Removed: r.IntN(3) == 0})
				check("ended")
			case 1:
				s.moveClock(time.Duration(r.IntN(40)-20) * time.Minute)
				check("jump")
			case 2:
				if r.IntN(6) == 0 {
					s.step(Drain{})
					check("drain")
				}
			case 3:
				s.step(Request{Token: 2,
					Event: operator.ForgetRequested{TaskID: pick(append(orphanIDs(s.core), "junk")...)}},
					Request{Token: 3, Event: operator.ReconcileRequested{Explicit: r.IntN(2) == 0}})
				check("forget")
			case 4:
				before, wasDraining := s.everything(), s.core.shared.Draining()
				// Load clamps times that are ahead of the wall clock, so the clock first gets its offset from the
				// beginning of this term again.
				s.skew = s.wallAtLoad.Sub(s.loadedAt)
				s.core = s.load()
				if after := s.everything(); after != before && !wasDraining {
					linesAfter, linesBefore := strings.Split(after, "\n"), strings.Split(before, "\n")
					for _, l := range linesAfter {
						if !slices.Contains(linesBefore, l) {
							t.Log("only after the restart: ", l)
						}
					}
					for _, l := range linesBefore {
						if !slices.Contains(linesAfter, l) {
							t.Log("only before the restart: ", l)
						}
					}
					t.Fatalf("seed %d, step %d: a new leader loads a different state", seed, steps)
				}
				s.step()
				check("restart")
			}
			for _, c := range calls[step.CallSubscribe](s.last) {
				s.accepts = nil
				s.step(SessionBegan{Session: c.Session, MasterID: pick("m1", "m2", "")})
				check("began")
			}
		default:
			end := s.now.Add(time.Duration(r.IntN(30)) * time.Second)
			for i := 0; s.now.Before(end); i++ {
				if i > 5000 {
					t.Fatalf("seed %d: the core keeps asking for steps", seed)
				}
				at := end
				if w := s.wake(); !w.IsZero() && w.Before(at) {
					at = w
				}
				s.now = s.now.Add(max(at.Sub(s.now), time.Millisecond))
				s.step()
				check("time")
				for _, c := range calls[step.CallSubscribe](s.last) {
					s.accepts = nil
					s.step(SessionBegan{Session: c.Session, MasterID: pick("m1", "m2", "")})
					check("began")
				}
			}
		}
	}
}
