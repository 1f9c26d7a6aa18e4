package core

import (
	"fmt"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// checkClusterKind refuses a state that was made with another kind of cluster. This cluster does not know the tasks in
// that state and would report them as gone. Then the scheduler would launch them here, although they may still run on
// the other cluster.
func (c *Core) checkClusterKind(entries []registry.Entry) error {
	kind, used := "", false
	for _, e := range entries {
		switch e.Path {
		case store.PathClusterKind:
			kind, used = string(e.Value), true
		case store.PathFramework:
			used = true
		}
	}
	if !used || kind == c.shared.Opt.ClusterKind {
		return nil
	}
	return fmt.Errorf("%w by a scheduler on %s: its state was made on %s, where its tasks may still run. Start the scheduler there again; to move, "+
		"export apps and jobs there (elasticjob export), have all jobs ended, and apply them to a scheduler with a new registry here",
		registry.ErrUnusable, nameOfCluster(c.shared.Opt.ClusterKind), nameOfCluster(kind))
}

func nameOfCluster(kind string) string {
	if kind == "" {
		return "Mesos or --local"
	}
	return kind
}
