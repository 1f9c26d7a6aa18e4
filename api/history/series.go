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

// series are numbers over time. Each value covers the step that begins at its time. A nil value is a gap: no server
// led, or there is no data.
type series struct {
	Range       string    `json:"range"`
	From        time.Time `json:"from"`
	To          time.Time `json:"to"`
	StepSeconds int       `json:"stepSeconds"`
	Times       []int64   `json:"times"`
	// Finished, Failed and Launched are sums over the step; Running and Waiting are means of its minutes.
	Finished []*float64 `json:"finished"`
	Failed   []*float64 `json:"failed"`
	Launched []*float64 `json:"launched"`
	Running  []*float64 `json:"running"`
	Waiting  []*float64 `json:"waiting"`
	// FireDelayP50Millis is the mean of the minutes' medians, weighted by their fires. FireDelayP95Millis is the 95th
	// percentile of the worst minute. Both are nil without fires.
	FireDelayP50Millis []*float64 `json:"fireDelayP50Millis"`
	FireDelayP95Millis []*float64 `json:"fireDelayP95Millis"`
}

// timeRange is a range of time that a client can ask for, and its step. A range has at most 400 steps.
type timeRange struct{ length, step time.Duration }

var timeRanges = map[string]timeRange{"hour": {time.Hour, time.Minute}, "day": {day, 5 * time.Minute},
	"week": {7 * day, 30 * time.Minute}}

// point sums up one step.
type point struct {
	minutes, sampled, loaded                     int64 // minutes with any data, with task samples, with launch data
	finished, failed, launched, running, waiting int64
	fires                                        int64
	delayP50, delayP95                           float64 // delayP50 is weighted by fires
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

// newSeries returns an empty series of the range that ends with the last full step before now.
func newSeries(name string, now time.Time) *series {
	of := timeRanges[name]
	to := now.UTC().Truncate(of.step)
	return &series{Range: name, From: to.Add(-of.length), To: to, StepSeconds: int(of.step / time.Second)}
}

// fill sums up minutes, in any order. A minute in which a server led and no end was counted had none.
func (s *series) fill(known []search.Activity) {
	step := time.Duration(s.StepSeconds) * time.Second
	points := make([]point, s.To.Sub(s.From)/step)
	for i := range known {
		if m := &known[i]; !m.Time.Before(s.From) && m.Time.Before(s.To) {
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

// orNull returns the value, or nil if n is 0.
func orNull(n int64, value float64) *float64 {
	if n == 0 {
		return nil
	}
	value = math.Round(value*10) / 10
	return &value
}

// mean returns sum/n, or nil if n is 0.
func mean(n int64, sum float64) *float64 { return orNull(n, sum/float64(max(n, 1))) }

var seriesRange = request.Choice("range", "Length of the time range, in steps of 1, 5 or 30 minutes.", "hour", "day", "week")

// series answers from the history. Without a history, or while it cannot be read, it answers from what this leader
// remembers of its own term.
func (h *Handlers) series(c *gin.Context) (any, error) {
	q := request.QueryOf(c)
	name := seriesRange.Of(q)
	if err := q.Err(); err != nil {
		return nil, err
	}
	ctx, out := c.Request.Context(), newSeries(name, h.Now())
	var known []search.Activity
	var err error
	if h.History != nil {
		asked, cancel := context.WithTimeout(ctx, ReadTimeout)
		defer cancel()
		if known, err = h.History.Activity(asked, out.From, out.To); err != nil {
			answer.Warn(c, "these are only the minutes of this leader's term: "+Unreadable(err).Error())
		}
	}
	if h.History == nil || err != nil {
		if known, err = caller.ReadWith(ctx, h.Scheduler, explain.Reader.Activity, out.From); err != nil {
			return nil, err
		}
	}
	out.fill(known)
	return out, nil
}
