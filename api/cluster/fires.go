package cluster

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/sync/semaphore"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// firesAhead counts the fires by cron in each minute of the next hour, and the shards that they start.
type firesAhead struct {
	From        time.Time `json:"from"`
	StepSeconds int       `json:"stepSeconds"`
	Fires       []int     `json:"fires"`
	Shards      []int     `json:"shards"`
	// Shifted is set if a clock change falls within the hour, in the time zone of any job.
	Shifted bool `json:"shifted"`
}

const (
	minutesAhead = 60
	// firesCacheTTL is how long an answer is cached. With 100,000 jobs that all have different schedules it takes some
	// tenths of a second to compute.
	firesCacheTTL = 5 * time.Second
)

// countFires counts the fires of all schedules in the hour that begins with the current minute. The fires of daemons
// count too, although their executors make them.
func countFires(schedules []config.ScheduleView, now time.Time) *firesAhead {
	a := &firesAhead{From: now.UTC().Truncate(time.Minute), StepSeconds: 60, Fires: make([]int, minutesAhead),
		Shards: make([]int, minutesAhead)}
	zones := map[string]*time.Location{}
	for _, v := range schedules {
		zones[v.Schedule.Zone().String()] = v.Schedule.Zone()
		v.Schedule.PerMinute(a.From, minutesAhead, func(minute, fires int) {
			a.Fires[minute] += fires * v.Jobs
			a.Shards[minute] += fires * v.Shards
		})
	}
	for _, zone := range zones {
		_, change := a.From.In(zone).ZoneBounds()
		a.Shifted = a.Shifted || change.After(a.From) && change.Before(a.From.Add(minutesAhead*time.Minute))
	}
	return a
}

// firesCache caches the last answer for firesCacheTTL. Only one request at a time computes an answer; the others wait
// until it is done or their contexts end.
type firesCache struct {
	slot       *semaphore.Weighted
	last       *firesAhead
	computedAt time.Time
}

func newFiresCache() firesCache { return firesCache{slot: semaphore.NewWeighted(1)} }

// get returns the fires of the next hour. It calls schedules if it must compute them.
func (c *firesCache) get(
	ctx context.Context, now time.Time, schedules func() ([]config.ScheduleView, error),
) (*firesAhead, error) {
	if err := c.slot.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer c.slot.Release(1)
	if age := now.Sub(c.computedAt); c.last != nil && age >= 0 && age < firesCacheTTL &&
		c.last.From.Equal(now.UTC().Truncate(time.Minute)) {
		return c.last, nil
	}
	all, err := schedules()
	if err != nil {
		return nil, err
	}
	c.last, c.computedAt = countFires(all, now), now
	return c.last, nil
}

// firesAhead answers with the number of fires in the next hour.
func (h *Handlers) firesAhead(c *gin.Context) (any, error) {
	ctx := c.Request.Context()
	if err := caller.ScopeOf(ctx).RequireAll(); err != nil { // the cache is shared by all callers
		return nil, err
	}
	schedules := func() ([]config.ScheduleView, error) {
		return caller.Read(ctx, h.Scheduler, explain.Reader.Schedules)
	}
	return h.fires.get(ctx, h.Now(), schedules)
}
