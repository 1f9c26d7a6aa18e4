package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// coreSteps measures decisions alone, without disk and processes: the cost of a fire with few and with many jobs, and
// the matching of demands with agents.
func coreSteps(ctx context.Context, _ string, _ time.Duration, r *results) error {
	if err := fires(ctx, r); err != nil {
		return err
	}
	return matches(ctx, r)
}

// fires compares the step of one fire with 1,000 and with 100,000 jobs. The measurements alternate, so that other
// load of the machine affects both.
func fires(ctx context.Context, r *results) error {
	const turns, steps = 15, 2000
	few, err := newFiring(1000)
	if err != nil {
		return err
	}
	many, err := newFiring(manyJobs)
	if err != nil {
		return err
	}
	var ofFew, ofMany []float64
	for turn := range turns + 1 {
		if err := ctx.Err(); err != nil {
			return err
		}
		a, b := few.run(steps), many.run(steps)
		if turn > 0 { // the first turn is for warming up
			ofFew, ofMany = append(ofFew, a), append(ofMany, b)
		}
	}
	fmt.Printf("  a fire's step: %.2f µs with 1,000 jobs, %.2f µs with 100,000\n", median(ofFew), median(ofMany))
	r.atMost("a fire's step with 100,000 jobs, as a multiple of that with 1,000", "", 1.1,
		median(ofMany)/median(ofFew))
	return nil
}

// benchBegan is the time at which the cores begin, on their own clock.
var benchBegan = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

// firing is a core of whose jobs one fires each second.
type firing struct {
	core *core.Core
	rnd  rand.Source
	now  time.Time
}

// newFiring returns a core with n jobs that do not fire, and one that does.
func newFiring(n int) (*firing, error) {
	var stored core.Stored
	for _, w := range append(documents(n), jobDocument("my_job", "* * * * * ?")) {
		stored.Entries = append(stored.Entries, registry.Entry{Path: w.Path, Value: w.Value})
	}
	f := &firing{core.New(step.DefaultOptions()), rand.NewPCG(1, 2), benchBegan}
	if err := f.core.Load(f.now, stored); err != nil {
		return nil, err
	}
	f.core.Step(clock.Now{Wall: f.now, Elapsed: f.now.Sub(benchBegan)}, f.rnd, nil)
	f.core.Step(clock.Now{Wall: f.now, Elapsed: f.now.Sub(benchBegan)}, f.rnd,
		[]core.Event{core.SessionBegan{Session: 1, MasterID: "m"}})
	return f, nil
}

// run runs this many fires, and returns the mean time of a step in microseconds.
func (f *firing) run(steps int) float64 {
	begin := time.Now()
	for range steps {
		f.now = f.now.Add(time.Second)
		f.core.Step(clock.Now{Wall: f.now, Elapsed: f.now.Sub(benchBegan)}, f.rnd, nil)
	}
	return time.Since(begin).Seconds() * 1e6 / float64(steps)
}

// matches matches 1,000 demands with 1,000 agents, including the reasons, in three cases: all, some and no demands
// fit.
func matches(ctx context.Context, r *results) error {
	const runs = 9
	agents := make([]offers.Agent, 1000)
	for i := range agents {
		size := resources.New(float64(4+i%8), float64(4096+1024*(i%8)))
		agents[i] = offers.Agent{ID: fmt.Sprintf("S%d", i), Host: fmt.Sprintf("host-%d", i), Capacity: size,
			Free: size.Minus(resources.New(float64(i%4), float64(i%5*512))), Executors: map[string]bool{}}
	}
	for _, kind := range []struct {
		name   string
		shards int
		shard  resources.Amount
	}{
		{"all placed", 10, resources.New(0.1, 32)},
		{"some placed, until nothing is left", 20, resources.New(0.5, 128)},
		{"none placed", 10_000, resources.New(1, 512)},
	} {
		demands := make([]offers.Demand, 1000)
		for i := range demands {
			demands[i] = offers.Demand{ID: fmt.Sprintf("e%d", i), Job: fmt.Sprintf("job-%d", i),
				App: fmt.Sprintf("app_%d", i%200), Together: true,
				Shard: kind.shard, Executor: fmt.Sprintf("app-%d", i%200), ExecutorSize: resources.New(0.1, 64),
				Items: make([]int, kind.shards)}
			for item := range kind.shards {
				demands[i].Items[item] = item
			}
		}
		for strategy, name := range []string{"pack", "spread"} {
			var took []float64
			for range runs {
				if err := ctx.Err(); err != nil {
					return err
				}
				begin := time.Now()
				offers.Match(demands, agents, offers.Strategy(strategy))
				took = append(took, time.Since(begin).Seconds()*1000)
			}
			r.atMost(fmt.Sprintf("1,000 demands on 1,000 agents, %s, %s", kind.name, name), " ms", 20, took...)
		}
	}
	return nil
}
