package offers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/offers"
)

// agent returns an agent of unknown capacity that runs the given executors.
func agent(id string, cpus, memory float64, executors ...string) offers.Agent {
	a := offers.Agent{ID: id, Host: "h" + id[1:], Free: resources.New(cpus, memory), Executors: map[string]bool{}}
	for _, executor := range executors {
		a.Executors[executor] = true
	}
	return a
}

// The following functions return an agent or a demand with one changed field.

func withCapacity(capacityCPUs, capacityMemory float64, a offers.Agent) offers.Agent {
	a.Capacity = resources.New(capacityCPUs, capacityMemory)
	return a
}

func reservedFor(demand string, a offers.Agent) offers.Agent {
	a.ReservedFor = demand
	return a
}

func withMaxTasks(tasks int, a offers.Agent) offers.Agent {
	a.MaxTasks = tasks
	return a
}

func withMaxBytes(bytes int, a offers.Agent) offers.Agent { a.MaxBytes = bytes; return a }

func withBytes(bytes int, d offers.Demand) offers.Demand { d.Bytes = bytes; return d }

func separate(d offers.Demand) offers.Demand { d.Together = false; return d }

func withExecutor(executor string, d offers.Demand) offers.Demand { d.Executor = executor; return d }

// avoiding returns a demand that avoids agents, with the reasons by agent.
func avoiding(d offers.Demand, reasons map[string]string) offers.Demand {
	d.Avoid = map[string]reason.Reason{}
	for agent, text := range reasons {
		d.Avoid[agent] = reason.FromText(text)
	}
	return d
}

// demand returns a demand of shards of my_app, with an executor of 1 CPU and 128 MB.
func demand(id string, shards int, cpus, memory float64) offers.Demand {
	d := offers.Demand{
		ID: id, Job: "my_job", App: "my_app", Shard: resources.New(cpus, memory),
		Executor: "my_app@-@1", ExecutorSize: resources.New(1, 128), Together: true,
	}
	for i := range shards {
		d.Items = append(d.Items, i)
	}
	return d
}

// format formats a result as "e1: S1*=0,1 S2=2 waiting 3; e2: …". A star marks an agent on which a new executor is
// started.
func format(r offers.Result, demands []offers.Demand, agents []offers.Agent) string {
	var lines []string
	started := map[string]bool{} // by executor and agent
	for i, d := range demands {
		line := d.ID + ":"
		last := -1
		for _, p := range r.Placements {
			if p.Demand != i {
				continue
			}
			if p.Agent == last {
				line += "," + fmt.Sprint(p.Item)
				continue
			}
			last = p.Agent
			line += " " + agents[p.Agent].ID
			key := fmt.Sprint(d.Executor, p.Agent)
			if !agents[p.Agent].Executors[d.Executor] && !started[key] {
				started[key] = true
				line += "*"
			}
			line += "=" + fmt.Sprint(p.Item)
		}
		for _, u := range r.Unplaced {
			if u.Demand == i {
				word := " waiting "
				if u.Later {
					word = " following "
				}
				line += word + strings.Trim(fmt.Sprint(u.Items), "[]")
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

func TestMatch(t *testing.T) {
	t.Parallel()
	executor := "my_app@-@1"
	for _, c := range []struct {
		name    string
		demands []offers.Demand
		agents  []offers.Agent
		pack    string
		spread  string // the result with Spread, if different
	}{
		{"the executor counts once per agent",
			[]offers.Demand{demand("e1", 3, 1, 128)}, []offers.Agent{agent("S1", 4, 512)},
			"e1: S1*=0,1,2", ""},
		{"L1 one shard too many, and none is placed",
			[]offers.Demand{demand("e1", 4, 1, 128)}, []offers.Agent{agent("S1", 4, 512)},
			"e1: waiting 0 1 2 3", ""},
		{"L1 single shards are placed as far as there is room",
			[]offers.Demand{separate(demand("e1", 4, 1, 128))}, []offers.Agent{agent("S1", 4, 512)},
			"e1: S1*=0,1,2 waiting 3", ""},
		{"L1 a demand without room uses nothing",
			[]offers.Demand{demand("e1", 9, 1, 128), demand("e2", 3, 1, 128)},
			[]offers.Agent{agent("S1", 4, 512), agent("S2", 2, 256)},
			"e1: waiting 0 1 2 3 4 5 6 7 8; e2: S2*=0 S1*=1,2", "e1: waiting 0 1 2 3 4 5 6 7 8; e2: S1*=0 S2*=1 S1=2"},
		{"L3 single shards that exceed the call follow later",
			[]offers.Demand{withBytes(10, separate(demand("e1", 4, 1, 128)))},
			[]offers.Agent{withMaxBytes(25, agent("S1", 8, 8192))},
			"e1: S1*=0,1 following 2 3", ""},
		{"L3 single shards without room wait, also if they exceed the call",
			[]offers.Demand{withBytes(10, separate(demand("e1", 4, 1, 128)))},
			[]offers.Agent{withMaxBytes(25, agent("S1", 3, 8192))},
			"e1: S1*=0,1 waiting 2 3", ""},
		{"L3 a shard that exceeds every call is alone in its call",
			[]offers.Demand{withBytes(100, separate(demand("e1", 2, 1, 128))), withBytes(1, demand("e2", 1, 1, 128))},
			[]offers.Agent{withMaxBytes(25, agent("S1", 8, 8192))},
			"e1: S1*=0 following 1; e2: following 0", ""},
		{"L1 shards that start together use more agents if they exceed one call",
			[]offers.Demand{withBytes(10, demand("e1", 4, 1, 128))},
			[]offers.Agent{withMaxBytes(25, agent("S1", 8, 8192)),
				withMaxBytes(25, agent("S2", 8, 8192))},
			"e1: S1*=0,1 S2*=2,3", "e1: S1*=0 S2*=1 S1=2 S2=3"},
		{"L1 if shards that start together exceed all calls, the rest follows and keeps its room",
			[]offers.Demand{withBytes(10, demand("e1", 5, 1, 128)), withBytes(1, demand("e2", 2, 1, 128))},
			[]offers.Agent{withMaxBytes(25, agent("S1", 7, 8192))},
			"e1: S1*=0,1 following 2 3 4; e2: waiting 0 1", ""},
		{"L1 shards that start together wait if the next calls can hold all",
			[]offers.Demand{withBytes(20, demand("e1", 1, 1, 128)), withBytes(10, demand("e2", 2, 1, 128))},
			[]offers.Agent{withMaxBytes(35, agent("S1", 8, 8192))},
			"e1: S1*=0; e2: following 0 1", ""},
		{"L1 shards that start together wait for room",
			[]offers.Demand{withBytes(10, demand("e1", 4, 1, 128))},
			[]offers.Agent{withMaxBytes(25, agent("S1", 3, 8192))},
			"e1: waiting 0 1 2 3", ""},
		{"a running executor does not count",
			[]offers.Demand{demand("e1", 4, 1, 128)}, []offers.Agent{agent("S1", 4, 512, executor)},
			"e1: S1=0,1,2,3", ""},
		{"agents with the executor come first",
			[]offers.Demand{demand("e1", 3, 1, 128)}, []offers.Agent{agent("S1", 2, 512), agent("S2", 8, 8192),
				agent("S3", 4, 512, executor)},
			"e1: S3=0,1,2", ""},
		{"D54 an executor that an earlier demand started counts once, and its agent comes first",
			[]offers.Demand{demand("e1", 1, 1, 128), demand("e2", 1, 1, 128), demand("e3", 1, 1, 128)},
			[]offers.Agent{agent("S1", 3, 512), agent("S2", 3, 512)},
			"e1: S1*=0; e2: S1=0; e3: S2*=0", ""},
		{"D54 the executors of two apps both count",
			[]offers.Demand{demand("e1", 1, 1, 128), withExecutor("b", demand("e2", 1, 1, 128)),
				demand("e3", 1, 1, 128)},
			[]offers.Agent{agent("S1", 4, 4096)},
			"e1: S1*=0; e2: S1*=0; e3: waiting 0", ""},
		{"pack uses the fullest agent, by the share of its capacity",
			[]offers.Demand{demand("e1", 2, 1, 128)}, []offers.Agent{withCapacity(4, 4096, agent("S1", 4, 4096)),
				withCapacity(64, 65536, agent("S2", 8, 8192))},
			"e1: S2*=0,1", "e1: S1*=0,1"},
		{"pack uses the smaller of two equally full agents, then the one with the lower id",
			[]offers.Demand{demand("e1", 1, 1, 128), withExecutor("b", demand("e2", 1, 1, 128))},
			[]offers.Agent{agent("S3", 4, 4096), agent("S2", 2, 256), agent("S1", 4, 4096)},
			"e1: S2*=0; e2: S1*=0", "e1: S1*=0; e2: S3*=0"},
		{"spread uses the agent that is emptiest at that time",
			[]offers.Demand{demand("e1", 3, 1, 128)},
			[]offers.Agent{withCapacity(8, 8192, agent("S1", 8, 8192)), withCapacity(8, 8192, agent("S2", 8, 8192)),
				withCapacity(8, 8192, agent("S3", 2, 8192))},
			"e1: S3*=0 S1*=1,2", "e1: S1*=0 S2*=1 S1=2"},
		{"a later demand may be placed before one without room",
			[]offers.Demand{demand("e1", 1, 64, 64), demand("e2", 1, 1, 128)}, []offers.Agent{agent("S1", 2, 256)},
			"e1: waiting 0; e2: S1*=0", ""},
		{"L2 only its demand may use a reserved agent",
			[]offers.Demand{demand("e1", 1, 1, 128), demand("e2", 1, 1, 128)},
			[]offers.Agent{reservedFor("e2", agent("S1", 8, 8192))},
			"e1: waiting 0; e2: S1*=0", ""},
		{"L6 an avoided agent is not used",
			[]offers.Demand{avoiding(demand("e1", 1, 1, 128), map[string]string{"S1": "broken", "S9": "gone"})},
			[]offers.Agent{agent("S1", 2, 256), agent("S2", 8, 8192)},
			"e1: S2*=0", ""},
		{"D57 two agents on one host are separate",
			[]offers.Demand{demand("e1", 2, 1, 128)}, []offers.Agent{{ID: "A", Host: "h", Free: resources.New(2, 256)},
				{ID: "B", Host: "h", Free: resources.New(2, 256)}},
			"e1: A*=0 B*=1", ""},
		{"exact to a thousandth",
			[]offers.Demand{withExecutor("b", demand("e0", 1, 0.001, 1)), demand("e1", 3, 0.1, 0.001)},
			[]offers.Agent{agent("S1", 1.3, 128.003)},
			"e0: waiting 0; e1: S1*=0,1,2", ""},
		{"no shards, no demand",
			[]offers.Demand{demand("e1", 0, 1, 128)}, nil, "e1:", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := format(offers.Match(c.demands, c.agents, offers.Pack), c.demands, c.agents); got != c.pack {
				t.Errorf("pack:\n got %s\nwant %s", got, c.pack)
			}
			if c.spread == "" {
				c.spread = c.pack
			}
			if got := format(offers.Match(c.demands, c.agents, offers.Spread), c.demands, c.agents); got != c.spread {
				t.Errorf("spread:\n got %s\nwant %s", got, c.spread)
			}
		})
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	const need = "3 shards, which start together, need 0.1 CPU, 64 MB each (and 1 CPU, 128 MB once per agent for the executor of my_app)"
	small := demand("e1", 3, 0.1, 64)
	for _, c := range []struct {
		name   string
		demand offers.Demand
		agents []offers.Agent
		want   string
		never  bool
	}{
		{"nothing on offer", small, nil, "no agent has anything on offer now", false},
		{"room for some", small, []offers.Agent{agent("S1", 1.1, 512), agent("S2", 0.5, 512)},
			need + ", but 2 agents on offer have room for 1; the closest to one more is agent S1 (host h1), which lacks 0.1 CPU", false},
		{"room for none", small, []offers.Agent{agent("S1", 0.7, 100)},
			need + ", but 1 agent on offer has room for none; the closest to one more is agent S1 (host h1), which lacks 0.4 CPU and 92 MB", false},
		{"the executor runs", demand("e1", 1, 2, 64), []offers.Agent{agent("S1", 1.5, 1000), agent("S2", 1.6, 64, "my_app@-@1")},
			"1 shard needs 2 CPU, 64 MB (and 1 CPU, 128 MB once per agent for the executor of my_app), but 2 agents on offer have room for none; the closest to one more is agent S2 (host h2), which lacks 0.4 CPU", false},
		{"some were placed", separate(small), []offers.Agent{agent("S1", 1.2, 1000)},
			"1 shard needs 0.1 CPU, 64 MB (and 1 CPU, 128 MB once per agent for the executor of my_app), but 1 agent on offer has room for none; the closest to one more is agent S1 (host h1), which lacks 0.1 CPU", false},
		{"all avoided", avoiding(small, map[string]string{"S1": "its package could not be fetched, again in 20 s"}), []offers.Agent{agent("S1", 8, 8192)},
			need + ", but the only agent on offer may not be used: agent S1 (host h1) is avoided: its package could not be fetched, again in 20 s", false},
		{"all reserved", small, []offers.Agent{reservedFor("e9", agent("S2", 8, 8192)), reservedFor("e9", agent("S1", 8, 8192))},
			need + ", but none of the 2 agents on offer may be used: 2 agents are reserved, such as agent S1 (host h1) for execution e9", false},
		{"some of each", avoiding(small, map[string]string{"S1": "no executor for its platform", "S4": "it is full"}),
			[]offers.Agent{agent("S1", 8, 8192), reservedFor("e9", agent("S2", 8, 8192)), agent("S3", 1, 512),
				agent("S4", 8, 8192)},
			need + ", but 1 agent on offer has room for none; the closest to one more is agent S3 (host h3), which lacks 0.1 CPU; agent S2 (host h2) is reserved for execution e9; " +
				"2 agents are avoided, such as agent S1 (host h1): no executor for its platform", false},
		{"never", demand("e1", 1, 64, 64), []offers.Agent{withCapacity(8, 8192, agent("S1", 1, 64)), withCapacity(2, 65536, agent("S2", 1, 64))},
			"no agent can ever hold one shard: it needs 64 CPU, 64 MB, and 1 CPU, 128 MB for the executor of my_app; the nearest, agent S1 (host h1), has 8 CPU, 8192 MB", true},
		{"never is false if an agent's capacity is unknown", demand("e1", 1, 64, 64), []offers.Agent{withCapacity(8, 8192, agent("S1", 1, 64)), agent("S2", 1, 64)},
			"1 shard needs 64 CPU, 64 MB (and 1 CPU, 128 MB once per agent for the executor of my_app), but 2 agents on offer have room for none; the closest to one more is agent S1 (host h1), which lacks 64 CPU and 128 MB", false},
		{"an agent accepts no more tasks", small, []offers.Agent{withMaxTasks(2, agent("S1", 8, 8192)), agent("S2", 0.5, 512)},
			need + ", but 2 agents on offer have room for 2; the closest to one more is agent S2 (host h2), which lacks 0.6 CPU; agent S1 (host h1) is full: it has as many tasks as it takes", false},
		{"no agent accepts more tasks", small, []offers.Agent{withMaxTasks(2, agent("S1", 8, 8192))},
			need + ", but 1 agent on offer has room for 2; agent S1 (host h1) is full: it has as many tasks as it takes", false},
		{"no executor size, no known host",
			func() offers.Demand { d := demand("e1", 1, 1, 64); d.ExecutorSize = resources.Amount{}; return d }(),
			[]offers.Agent{{ID: "S1", Free: resources.New(2, 0)}},
			"1 shard needs 1 CPU, 64 MB, but 1 agent on offer has room for none; the closest to one more is agent S1, which lacks 64 MB", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := offers.Match([]offers.Demand{c.demand}, c.agents, offers.Pack)
			if len(r.Unplaced) != 1 {
				t.Fatalf("got %+v, want one demand unplaced", r)
			}
			if got := r.Unplaced[0]; got.Reason.String() != c.want || got.Never != c.never {
				t.Errorf("never %v, want %v; reason:\n got %s\nwant %s", got.Never, c.never, got.Reason, c.want)
			}
		})
	}
}
