package sim

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

var (
	seeds = flag.Uint64("sim.seeds", 100, "how many worlds")
	after = flag.Uint64("sim.after", 0, "begin with the seed after this one")
	steps = flag.Int("sim.steps", 500, "steps of each before its faults stop")
	seed  = flag.Uint64("sim.seed", 0, "one world only, with everything that happens")
)

func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800) // worlds are small and short-lived: this saves a tenth of the time
	}
	goleak.VerifyTestMain(m)
}

// TestTheSameSeedGivesTheSameWorld: otherwise a failing seed would be useless. TestWorlds also compares two runs of
// each of its worlds.
func TestTheSameSeedGivesTheSameWorld(t *testing.T) {
	t.Parallel()
	for n := range uint64(4) {
		first, err := Run(Config{Seed: n + 1, Steps: 200})
		if err != nil {
			t.Fatal(err)
		}
		again, err := Run(Config{Seed: n + 1, Steps: 200})
		if err != nil || again != first {
			t.Fatalf("seed %d: %+v, then %+v, %v", n+1, first, again, err)
		}
	}
}

// scarce are the faults that a hundred worlds may lack, because they need several other faults at the same place.
var scarce = map[Fault]bool{MachineFlaps: true, LateProcess: true, ExecutorGoneAtAccept: true, OfferGone: true,
	Drained: true, ForgetRefused: true, UnreachableBack: true, ExecutorNotBack: true, RemovalForgotten: true,
	AbdicatedForStandby: true, SilentExecutorEnded: true, TaskOutlivesFramework: true, EditConflicts: true,
	HistoryForgottenUnstored: true, ExecutorHangs: true, OrphanStaysStaged: true, AbdicatedRefused: true,
	EndedWhileFetching: true, GivenUpInSilence: true, HeardAfterGivenUp: true, AttemptTakenBack: true,
	MachineDead: true, MachineDrained: true, TaskDrained: true, LeaseOfDeposed: true}

// TestTheChecksFindWrongOrders: some worlds fail if the shell does its steps in a wrong order, which shows that the
// checks find it.
func TestTheChecksFindWrongOrders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bug   Bug
		after uint64 // the seed after which the search begins: shortly before one that shows the bug
		finds string // the broken invariant, if it is always the same
	}{
		"state is read before the term's write":        {ReadsFirst, 0, ""},
		"effects leave before the commit":              {ActsFirst, 0, "write, then act"},
		"a document is read on any server":             {ReloadsAnywhere, 0, "T4 a reload sees the write that it conflicted with"},
		"fires that were made are forgotten":           {ForgetsMadeFires, 2680, "F2 a fire is made at most once"},
		"the cursor goes back too far":                 {GoesBackTooFar, 200, "F4 the cursor goes back to before the leap, and no further"},
		"a lease begins with its answer":               {LeaseFromAnswer, 2080, "K5 no two processes of an exclusive shard run at once"},
		"a lease is given without asking the registry": {AnswersUnconfirmed, 6540, "K5 no two processes of an exclusive shard run at once"},
		"a call counts as answered when it leaves":     {AnswersCallsItself, 96, "L3 ACCEPTs for one agent keep their order"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := range uint64(300) {
				var found *Failure
				if _, err := Run(Config{Seed: c.after + n + 1, Steps: 300, Bug: c.bug}); errors.As(err, &found) &&
					(c.finds == "" || found.Invariant == c.finds) {
					t.Logf("%.300s", err)
					return
				}
			}
			t.Error("300 worlds did not show the wrong order")
		})
	}
}

// TestWorlds plays many worlds; each fault must have happened in them.
func TestWorlds(t *testing.T) {
	t.Parallel()
	playWorlds(t, false, *seeds)
}

// TestPodWorlds plays worlds whose cluster is a Kubernetes.
func TestPodWorlds(t *testing.T) {
	t.Parallel()
	playWorlds(t, true, (*seeds+7)/8)
}

func playWorlds(t *testing.T, pods bool, seeds uint64) {
	if *seed > 0 {
		r, err := Run(Config{Seed: *seed, Steps: *steps, Pods: pods, Trace: os.Stdout})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", r)
		return
	}
	var (
		next    atomic.Uint64
		mu      sync.Mutex
		faults  [NumFaults]int
		sum     Report
		failed  int
		workers sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				n := next.Add(1)
				if n > seeds {
					return
				}
				r, err := Run(Config{Seed: *after + n, Steps: *steps, Pods: pods})
				if err == nil {
					// Rule X13: no decision depends on executor reports.
					again, failure := Run(Config{Seed: *after + n, Steps: *steps, Pods: pods, Deaf: true})
					if again != r {
						err = fmt.Errorf("seed %d: the same world without the content of executors' reports differs: "+
							"%+v, then %+v, %w", *after+n, r, again, failure)
					}
				}
				mu.Lock()
				for f, k := range r.Faults {
					faults[f] += k
				}
				sum.Steps += r.Steps
				sum.Kills += r.Kills
				sum.Time += r.Time
				sum.Launched += r.Launched
				sum.Ended += r.Ended
				sum.Processes += r.Processes
				if err != nil {
					if failed++; failed <= 3 {
						t.Error(err)
					} else if failed < 200 {
						t.Error(err.Error()[:min(len(err.Error()), 500)])
					}
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	t.Logf("%d leaders crashed; executions were lost or shards ran twice in %d of %d worlds", sum.Kills, failed, seeds)
	if seeds >= 2000 && *steps >= 500 && sum.Kills < 1000 {
		t.Errorf("%d leaders crashed, want 1,000 or more", sum.Kills)
	}
	t.Logf("%d worlds, %d failed, %d steps, %s of their time: %d tasks, %d processes, %d executions ended", seeds,
		failed, sum.Steps, sum.Time, sum.Launched, sum.Processes, sum.Ended)
	for f, n := range faults {
		t.Logf("%7d  %s", n, Fault(f))
		enough := seeds >= 500 || seeds >= 100 && !scarce[Fault(f)]
		if n == 0 && Fault(f).of(pods) && enough && *steps >= 500 {
			t.Errorf("%s: never happened, so the worlds do not test it", Fault(f))
		}
	}
}
