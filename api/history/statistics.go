package history

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

const day = 24 * time.Hour

// These are the parameters of statistics. The first two accept only one value, which the original's clients send.
var (
	last24Hours     = request.Choice("since", "Optional.", "last24hours")
	sinceLastWeek   = request.Choice("since", "Optional.", "lastWeek")
	statisticsSince = request.Moment("since", "Leaves out earlier runs.")
)

// taskResults answers with the results of each minute of the last 24 hours.
func (h *Handlers) taskResults(c *gin.Context, stored History) (any, error) {
	q := request.QueryOf(c)
	last24Hours.Of(q)
	if err := q.Err(); err != nil {
		return nil, err
	}
	return orUnreadable(stored.TaskResults(c.Request.Context(), search.Minute, h.Now().Add(-day), time.Time{}))
}

// taskResultsOf answers with the sum of the results of a period [D97]. Minutes, hours or days that were not counted
// are missing from the sum.
func (h *Handlers) taskResultsOf(c *gin.Context, stored History) (any, error) {
	now := h.Now().UTC()
	interval, from, until := search.Day, time.Time{}, time.Time{}
	switch period := c.Param("period"); period {
	case "online":
	case "lastWeek":
		from = h.weekAgo()
	case "lastHour":
		interval, until = search.Hour, now.Truncate(time.Hour)
		from = until.Add(-time.Hour)
	case "lastMinute":
		interval, until = search.Minute, now.Truncate(time.Minute)
		from = until.Add(-time.Minute)
	default:
		return nil, failure.NotFound("period_not_found",
			"there is no period %s; there are online, lastWeek, lastHour and lastMinute", failure.Quoted(period))
	}
	list, err := stored.TaskResults(c.Request.Context(), interval, from, until)
	if err != nil {
		return nil, Unreadable(err)
	}
	sum := search.TaskResults{Interval: interval, StatisticsTime: search.Time{Time: from},
		CreationTime: search.Time{Time: now.Truncate(time.Millisecond)}}
	for _, r := range list {
		sum.SuccessCount += r.SuccessCount
		sum.FailedCount += r.FailedCount
	}
	if len(list) > 0 && from.IsZero() {
		sum.StatisticsTime = list[0].StatisticsTime
	}
	return sum, nil
}

// weekAgo returns the midnight in UTC that is seven days before the beginning of today.
func (h *Handlers) weekAgo() time.Time { return h.Now().UTC().Truncate(day).Add(-7 * day) }

// lastWeek returns a handler that answers with the samples since weekAgo.
func (h *Handlers) lastWeek(read func(stored History, ctx context.Context, from time.Time) ([]search.Running,
	error)) route.Handler {
	return h.fromHistory(func(c *gin.Context, stored History) (any, error) {
		q := request.QueryOf(c)
		sinceLastWeek.Of(q)
		if err := q.Err(); err != nil {
			return nil, err
		}
		return orUnreadable(read(stored, c.Request.Context(), h.weekAgo()))
	})
}

// jobsRegistered answers with the number of jobs on each day.
func jobsRegistered(c *gin.Context, stored History) (any, error) {
	return orUnreadable(stored.JobsRegistered(c.Request.Context()))
}

type jobCounts struct {
	TransientJobCount int `json:"transientJobCount"`
	DaemonJobCount    int `json:"daemonJobCount"`
}

// executionTypes counts the registered jobs by their type.
func (h *Handlers) executionTypes(c *gin.Context) (any, error) {
	all, err := caller.ReadList(c.Request.Context(), h.Scheduler, explain.Reader.Jobs)
	var n jobCounts
	for _, j := range all {
		switch j.JobExecutionType {
		case jobs.Transient:
			n.TransientJobCount++
		case jobs.Daemon:
			n.DaemonJobCount++
		}
	}
	return n, err
}

// jobStatistics answers with the statistics of one job.
func (h *Handlers) jobStatistics(c *gin.Context, stored History) (any, error) {
	name, err := request.PathName("job")(c)
	if err != nil {
		return nil, err
	}
	q := request.QueryOf(c)
	since := statisticsSince.Of(q).Time(h.Now())
	if err := q.Err(); err != nil {
		return nil, err
	}
	if err := caller.MaySee(c.Request.Context(), h.Scheduler, name); err != nil {
		return nil, err
	}
	statistics, err := stored.JobStatistics(c.Request.Context(), name, since)
	if err != nil {
		return nil, Unreadable(err)
	}
	if statistics.Since.IsZero() { // the job has no recorded run, and may not exist
		if _, err := caller.ReadWith(c.Request.Context(), h.Scheduler, explain.Reader.Job, name); err != nil {
			return nil, err
		}
	}
	return statistics, nil
}
