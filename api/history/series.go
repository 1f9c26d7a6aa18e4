package history

import (
	"context"
	"math"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// series has numbers over time. A value covers the step that begins at the time with the same index. A nil value is a
// gap: no server led then, or the data is missing.
type series struct {
	Range       string    `json:"range"`
	From        time.Time `json:"from"`
	To          time.Time `json:"to"`
	StepSeconds int       `json:"stepSeconds"`
	Times       []int64   `json:"times"`
	// Finished, Failed and Launched are sums over a step. Running and Waiting are the means of a step's minutes.
	Finished []*float64 `json:"finished"`
	Failed   []*float64 `json:"failed"`
	Launched []*float64 `json:"launched"`
	Running  []*float64 `json:"running"`
	Waiting  []*float64 `json:"waiting"`
	// FireDelayP50Millis is the mean of the minutes' medians, weighted by the minutes' fires. FireDelayP95Millis is
	// the 95th percentile of the worst minute. Both are nil for a step without fires.
	FireDelayP50Millis []*float64 `json:"fireDelayP50Millis"`
	FireDelayP95Millis []*float64 `json:"fireDelayP95Millis"`
}

// timeRange is a time range that a client can request, and the step of its series. A range has at most 400 steps.
type timeRange struct{ length, step time.Duration }

var timeRanges = map[string]timeRange{"hour": {time.Hour, time.Minute}, "day": {day, 5 * time.Minute},
	"week": {7 * day, 30 * time.Minute}}

// point is the sum of one step's minutes.
type point struct {
	minutes, sampled, loaded                     int64 // minutes with any data, with task samples, with launch data
	finished, failed, launched, running, waiting int64
	fires                                        int64
	delayP50                                     float64 // the sum of the medians, each times its minute's fires
	delayP95                                     float64 // of the worst minute
}

func (p *point) add(m *search.Activity) {
	p.minutes++
	p.finished += m.Finished
	p.failed += m.Failed
	if m.Sampled {
		p.sampled++
		p.running += m.Running
	}
	if m.Loaded {
		p.loaded++
		p.launched += m.Launched
		p.waiting += m.Waiting
		p.fires += m.Fires
		p.delayP50 += m.DelayP50 * float64(m.Fires)
		p.delayP95 = max(p.delayP95, m.DelayP95)
	}
}

// newSeries returns an empty series. Its time range ends with the last full step before now.
func newSeries(name string, now time.Time) *series {
	r := timeRanges[name]
	to := now.UTC().Truncate(r.step)
	return &series{Range: name, From: to.Add(-r.length), To: to, StepSeconds: int(r.step / time.Second)}
}

// fill sums up the minutes, which may be in any order. In a minute with any data, counts that are missing are 0.
func (s *series) fill(minutes []search.Activity) {
	step := time.Duration(s.StepSeconds) * time.Second
	points := make([]point, s.To.Sub(s.From)/step)
	for i := range minutes {
		if m := &minutes[i]; !m.Time.Before(s.From) && m.Time.Before(s.To) {
			points[m.Time.Sub(s.From)/step].add(m)
		}
	}
	for i := range points {
		p := &points[i]
		s.Times = append(s.Times, s.From.Add(time.Duration(i)*step).Unix())
		s.Finished = append(s.Finished, orNull(p.minutes, float64(p.finished)))
		s.Failed = append(s.Failed, orNull(p.minutes, float64(p.failed)))
		s.Launched = append(s.Launched, orNull(p.loaded, float64(p.launched)))
		s.Running = append(s.Running, mean(p.sampled, float64(p.running)))
		s.Waiting = append(s.Waiting, mean(p.loaded, float64(p.waiting)))
		s.FireDelayP50Millis = append(s.FireDelayP50Millis, mean(p.fires, p.delayP50))
		s.FireDelayP95Millis = append(s.FireDelayP95Millis, orNull(p.fires, p.delayP95))
	}
}

// orNull returns the value, rounded to one decimal place, or nil if n is 0.
func orNull(n int64, value float64) *float64 {
	if n == 0 {
		return nil
	}
	value = math.Round(value*10) / 10
	return &value
}

// mean returns sum/n, or nil if n is 0.
func mean(n int64, sum float64) *float64 { return orNull(n, sum/float64(max(n, 1))) }

var seriesRange = request.Choice("range", "Length of the time range, in steps of 1, 5 or 30 minutes.", "hour", "day",
	"week")

// series answers from the history. Without a history, or while the history cannot be read, it answers from the memory
// of this leader, which covers only its own term.
func (h *Handlers) series(c *gin.Context) (any, error) {
	q := request.QueryOf(c)
	name := seriesRange.Of(q)
	if err := q.Err(); err != nil {
		return nil, err
	}
	ctx, out := c.Request.Context(), newSeries(name, h.Now())
	var minutes []search.Activity
	var err error
	if h.History != nil {
		readCtx, cancel := context.WithTimeout(ctx, ReadTimeout)
		defer cancel()
		if minutes, err = h.History.Activity(readCtx, out.From, out.To); err != nil {
			answer.Warn(c, "these are only the minutes of this leader's term: "+Unreadable(err).Error())
		}
	}
	if h.History == nil || err != nil {
		if minutes, err = caller.ReadWith(ctx, h.Scheduler, explain.Reader.Activity, out.From); err != nil {
			return nil, err
		}
	}
	out.fill(minutes)
	return out, nil
}
