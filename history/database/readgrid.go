package database

import (
	"context"
	"fmt"
	"strings"

	"github.com/elasticjob-go/elasticjob/history/search"
)

// maxCells bounds the number of runs that a grid reads. It suffices for 200 executions of 200 shards, some with several
// attempts.
const maxCells = 60_000

// cellRow is a run with the columns that a grid needs.
type cellRow struct {
	Execution string `db:"execution_id"`
	search.Cell
	Start search.Time `db:"start_time"`
	End   search.Time `db:"complete_time"`
}

// Cells returns the last runs of the shards of executions, by execution id. An execution is missing if it has no stored
// runs, or if there are too many runs to read. An execution that is returned has all its shards.
func (d *DB) Cells(ctx context.Context, executions []string) (map[string][]search.Cell, error) {
	all := map[string][]search.Cell{}
	if len(executions) == 0 {
		return all, nil
	}
	rows, err := selectAll[cellRow](ctx, d, cellsOf(executions))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", searchedRuns.table, err)
	}
	for _, r := range rows {
		r.DurationMillis = millisBetween(r.Start, r.End)
		all[r.Execution] = append(all[r.Execution], r.Cell)
	}
	if len(rows) == maxCells {
		delete(all, rows[len(rows)-1].Execution) // it may be incomplete
	}
	for id, cells := range all {
		all[id] = search.LastAttempts(cells)
	}
	return all, nil
}

// cellsOf returns the query for the runs of executions, ordered by execution.
func cellsOf(executions []string) clause {
	values := make([]any, 0, len(executions)+1)
	for _, id := range executions {
		values = append(values, id)
	}
	return clause{"SELECT execution_id, sharding_item, COALESCE(state, '') AS state, COALESCE(attempt, 0) AS attempt, task_id, start_time, complete_time FROM JOB_EXECUTION_LOG WHERE execution_id IN (?" +
		strings.Repeat(", ?", len(executions)-1) + ") ORDER BY execution_id, start_time LIMIT ?",
		append(values, maxCells)}
}
