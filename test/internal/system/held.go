package system

// Held are two jobs of two shards each, which run until Release is called: "again" with failover and "once" without.
type Held struct {
	// Again and Once are the ids of their executions.
	Again, Once string
	Release     func()
	// Starts are the entries that their processes wrote into the ledger when they started.
	Starts []Entry
}

// StartHeldJobs registers the app "held" and both jobs, triggers these, and waits until all their shards run.
func (c *Cluster) StartHeldJobs() Held {
	c.Helper()
	path, release := c.Hold()
	c.App("held", Writes, nil)
	c.Job("again", "held", Doc{"shardingTotalCount": 2, "failover": true, "env": Env("HOLD", path)})
	c.Job("once", "held", Doc{"shardingTotalCount": 2, "env": Env("HOLD", path)})
	h := Held{Again: c.Trigger("again"), Once: c.Trigger("once"), Release: release}
	h.Starts = append(c.AwaitStarts(h.Again, 2), c.AwaitStarts(h.Once, 2)...)
	c.AwaitShards(h.Again, "RUNNING")
	c.AwaitShards(h.Once, "RUNNING")
	return h
}
