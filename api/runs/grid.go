package runs

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/history"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

const (
	// These are the default and the maximum number of executions in a grid.
	defaultColumns = 60
	maxColumns     = 200
	// maxCells is the maximum number of shards of an execution that a grid shows one by one. If an execution has more,
	// the grid only counts them.
	maxCells = 200
)

var gridLimit = request.Number("limit", "Number of runs returned.", defaultColumns, 1, maxColumns)

// grid shows the results of a job's last executions, shard by shard.
type grid struct {
	JobName string `json:"jobName"`
	// MedianMillis is the median duration of the finished executions in the grid; nil if there are none.
	MedianMillis *int64       `json:"medianMillis"`
	Executions   []gridColumn `json:"executions"`
}

// gridColumn is one execution.
type gridColumn struct {
	ExecutionID    string            `json:"executionId"`
	FireTime       time.Time         `json:"fireTime"`
	Source         executions.Source `json:"source"`
	State          executions.State  `json:"state"`
	DurationMillis *int64            `json:"durationMillis"`
	// WaitMillis is the time from the fire to the launch of the first task; nil before the launch.
	WaitMillis *int64 `json:"waitMillis"`
	// Shards is nil if there are more than maxCells shards, if the history cannot be read, or for an older execution
	// of a daemon.
	Shards []search.Cell `json:"shards" nullable:"true"`
	// Counts is the number of shards by their states.
	Counts map[executions.State]int `json:"counts"`
}

// jobGrid answers with the newest executions of a job and their shards. The last one is the newest.
func (h *Handlers) jobGrid(c *gin.Context) (any, error) {
	name, err := request.PathName("job")(c)
	if err != nil {
		return nil, err
	}
	q := request.QueryOf(c)
	limit := gridLimit.Of(q)
	if err := q.Err(); err != nil {
		return nil, err
	}
	var cells map[string][]search.Cell
	f := views.ExecutionFilter{Job: name, MustExist: true, Limit: limit}
	list, err := h.allExecutions(c, f, func(r explain.Reader, remembered []views.ExecutionSummary) (err error) {
		var ids []string
		for i := range remembered {
			if hasFewShards(&remembered[i]) {
				ids = append(ids, remembered[i].ExecutionID)
			}
		}
		cells, err = r.Cells(name, ids)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(list)
	if h.History != nil {
		cells = h.withStoredCells(c, cells, list)
	}
	g := grid{JobName: name, MedianMillis: medianOfFinished(list), Executions: make([]gridColumn, len(list))}
	for i, e := range list {
		column := gridColumn{ExecutionID: e.ExecutionID, FireTime: e.FireTime, Source: e.Source, State: e.State,
			DurationMillis: e.DurationMillis, Shards: cells[e.ExecutionID], Counts: e.Shards}
		if len(e.Shards) == 0 { // it was never launched
			column.Shards = []search.Cell{}
		}
		if e.LaunchTime != nil {
			millis := max(e.LaunchTime.Sub(e.FireTime).Milliseconds(), 0)
			column.WaitMillis = &millis
		}
		g.Executions[i] = column
	}
	return g, nil
}

// hasFewShards reports whether an execution has at most maxCells shards.
func hasFewShards(e *views.ExecutionSummary) bool {
	shards := 0
	for _, n := range e.Shards {
		shards += n
	}
	return shards <= maxCells
}

// withStoredCells adds the shards of the executions that only the history has, unless an execution has more than
// maxCells or belongs to a daemon. If they cannot be read, the header Warning says so.
func (h *Handlers) withStoredCells(
	c *gin.Context, cells map[string][]search.Cell, list []executionRow,
) map[string][]search.Cell {
	var stored []string
	for i := range list {
		// A daemon's shard has one run for each fire, too many to show.
		if e := &list[i].ExecutionSummary; cells[e.ExecutionID] == nil && hasFewShards(e) &&
			e.Source != executions.DaemonSource {
			stored = append(stored, e.ExecutionID)
		}
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), history.ReadTimeout)
	defer cancel()
	storedCells, err := h.History.Cells(ctx, stored)
	if err != nil {
		answer.Warn(c, "the shards of older executions are missing: "+history.Unreadable(err).Error())
	}
	if cells == nil {
		cells = map[string][]search.Cell{}
	}
	maps.Copy(cells, storedCells)
	return cells
}

// medianOfFinished returns the median duration of the executions that finished. It returns nil if there are none.
func medianOfFinished(list []executionRow) *int64 {
	var all []int64
	for _, e := range list {
		if e.State == executions.Finished && e.DurationMillis != nil {
			all = append(all, *e.DurationMillis)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return &all[len(all)/2]
}
