package views

import "github.com/elasticjob-go/elasticjob/history/search"

// Cells returns, by id, the shards of the named executions. It leaves out an execution of another job, and one that is
// neither open nor kept. An execution that was not launched yet has no shards.
func (vs *Views) Cells(job string, ids []string) map[string][]search.Cell {
	cells := make(map[string][]search.Cell, len(ids))
	for _, id := range ids {
		e := vs.st.Executions.Find(id)
		if e == nil || e.Job() != job {
			continue
		}
		shards, durations := make([]search.Cell, e.NumShards()), make([]int64, e.NumShards())
		for i := range e.NumShards() {
			s := e.Shard(i)
			shards[i] = search.Cell{Item: s.Item(), State: string(s.State()), Attempt: s.Attempt(), TaskID: s.TaskID()}
			if s.State().Terminal() && !s.Start().IsZero() && !s.Complete().IsZero() {
				durations[i] = max(s.Complete().Sub(s.Start()).Milliseconds(), 0)
				shards[i].DurationMillis = &durations[i]
			}
		}
		cells[id] = shards
	}
	return cells
}
