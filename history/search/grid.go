package search

import "slices"

// Cell is one shard of an execution, with its last attempt.
type Cell struct {
	Item  int    `json:"item" db:"sharding_item"`
	State string `json:"state" db:"state"`
	// DurationMillis is the time from the start of the shard's process to its end; nil before the end.
	DurationMillis *int64 `json:"durationMillis" db:"-"`
	Attempt        int    `json:"attempt" db:"attempt"`
	TaskID         string `json:"taskId" db:"task_id"`
}

// LastAttempts returns the cells of one execution by item, only with the last attempt of each shard. It reorders cells.
func LastAttempts(cells []Cell) []Cell {
	slices.SortFunc(cells, func(a, b Cell) int {
		if a.Item != b.Item {
			return a.Item - b.Item
		}
		return b.Attempt - a.Attempt
	})
	return slices.CompactFunc(cells, func(a, b Cell) bool { return a.Item == b.Item })
}
