package view

import (
	"context"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// hour is how many full minutes rates are made of.
const hour = 60

// minutes are the core's counts at the last minutes' ends, the oldest first.
type minutes struct {
	mu sync.Mutex
	at []views.Counts
}

// sample reads the counts each minute until ctx ends; a minute in which they can't be read is left out.
func (m *minutes) sample(ctx context.Context, read Reader) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		var now views.Counts
		if read(ctx, func(c *core.Core) { now = c.Views().Counts() }) == nil {
			m.mu.Lock()
			m.at = append(m.at, now)
			m.at = m.at[max(len(m.at)-hour-1, 0):]
			m.mu.Unlock()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// rates are what a summary says of the last minute and the last hour.
type rates struct {
	perMinute        int64
	finished, failed int64
	delay            *Percentiles
}

// upTo takes the counts of now for those since the last sample.
func (m *minutes) upTo(now *views.Counts) rates {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := rates{}
	if n := len(m.at); n >= 2 {
		r.perMinute = m.at[n-1].Launched - m.at[n-2].Launched
	}
	from := views.Counts{FireDelay: stats.NewLatencies()}
	if len(m.at) > 0 { // the first of them is the term's begin, or an hour ago
		from = m.at[0]
	}
	r.finished, r.failed = now.Finished-from.Finished, now.Failed-from.Failed
	if delays := now.FireDelay.Since(&from.FireDelay); delays.Count() > 0 {
		r.delay = &Percentiles{P50: delays.Quantile(0.5), P95: delays.Quantile(0.95)}
	}
	return r
}
