package core

import (
	"fmt"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// checkClusterKind refuses a state that was made with another kind of cluster. Its tasks are unknown to this cluster,
// which would report them as gone; then tasks that still run on the other cluster would be launched here a second
// time.
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
