package scheduler

import (
	"context"

	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// Cells are the shards of some executions of a job, by the executions' ids: of those that live or are kept.
func (s *Scheduler) Cells(ctx context.Context, job string, ids []string) (map[string][]search.Cell, error) {
	return read(ctx, s, func(c *core.Core) (map[string][]search.Cell, error) { return c.Cells(job, ids), nil })
}
