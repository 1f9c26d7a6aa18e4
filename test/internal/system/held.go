package system

// Held are two jobs of two shards that run until they are released: "again" with failover and "once" without.
type Held struct {
	// Again and Once are the ids of their executions.
	Again, Once string
	Release     func()
	// Began is what their processes wrote into the ledger when they started.
	Began []Entry
}

// HoldTwo starts both jobs, of app "held", and waits until all their shards run.
func (c *Cluster) HoldTwo() Held {
	c.Helper()
	path, release := c.Hold()
	c.App("held", Writes, nil)
	c.Job("again", "held", Doc{"shardingTotalCount": 2, "failover": true, "env": Env("HOLD", path)})
	c.Job("once", "held", Doc{"shardingTotalCount": 2, "env": Env("HOLD", path)})
	h := Held{Again: c.Trigger("again"), Once: c.Trigger("once"), Release: release}
	h.Began = append(c.Started(h.Again, 2), c.Started(h.Once, 2)...)
	c.AwaitShards(h.Again, "RUNNING")
	c.AwaitShards(h.Once, "RUNNING")
	return h
}
