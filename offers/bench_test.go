package offers_test

import (
	"fmt"
	"testing"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/offers"
)

// manyAgents returns n agents of eight sizes. Every third agent runs the executors of four apps.
func manyAgents(n int) []offers.Agent {
	agents := make([]offers.Agent, n)
	for i := range agents {
		size := resources.New(float64(4+i%8), float64(4096+1024*(i%8)))
		agents[i] = offers.Agent{
			ID: fmt.Sprintf("S%d", i), Host: fmt.Sprintf("host-%d", i), Capacity: size,
			Free: size.Minus(resources.New(float64(i%4), float64(i%5*512))), Executors: map[string]bool{},
		}
		if i%3 == 0 {
			for k := range 4 {
				agents[i].Executors[fmt.Sprintf("app-%d", (i+k)%200)] = true
			}
		}
	}
	return agents
}

// manyDemands returns n demands of 200 apps, each of which avoids one agent.
func manyDemands(n, items int, shard resources.Amount, together bool) []offers.Demand {
	demands := make([]offers.Demand, n)
	for i := range demands {
		demands[i] = offers.Demand{
			ID: fmt.Sprintf("e%d", i), Job: fmt.Sprintf("job-%d", i), App: fmt.Sprintf("app_%d", i%200),
			Together: together,
			Shard:    shard, Executor: fmt.Sprintf("app-%d", i%200), ExecutorSize: resources.New(0.1, 64),
			Avoid: map[string]reason.Reason{
				fmt.Sprintf("S%d", i): reason.FromText("the package could not be fetched")},
		}
		for item := range items {
			demands[i].Items = append(demands[i].Items, item)
		}
	}
	return demands
}

// BenchmarkMatch matches 1,000 demands with 1,000 agents.
func BenchmarkMatch(b *testing.B) {
	for _, c := range []struct {
		name    string
		demands []offers.Demand
		placed  int // the expected number of placements; -1 if it depends on the strategy
	}{
		{"all of 1 shard placed", manyDemands(1000, 1, resources.New(0.5, 128), true), 1000},
		{"all of 10 shards placed", manyDemands(1000, 10, resources.New(0.1, 32), true), 10_000},
		{"none placed, no agent has room for a shard", manyDemands(1000, 3, resources.New(10, 20_000), true), 0},
		{"none placed, all agents have room for a few", manyDemands(1000, 10_000, resources.New(1, 512), true), 0},
		{"half placed, until nothing is left", manyDemands(1000, 20, resources.New(0.5, 128), true), -1},
		{"some shards placed, until nothing is left", manyDemands(1000, 20, resources.New(0.5, 128), false), -1},
	} {
		agents := manyAgents(1000)
		for strategy, name := range []string{"pack", "spread"} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r := offers.Match(c.demands, agents, offers.Strategy(strategy))
					if c.placed >= 0 && len(r.Placements) != c.placed {
						b.Fatalf("%d placed", len(r.Placements))
					}
				}
			})
		}
	}
}
