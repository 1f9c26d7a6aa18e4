package view

import (
	"context"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// maxSamples is the number of full minutes from which rates are computed.
const maxSamples = 60

// minutes are the core's counts at the ends of the last minutes, the oldest first.
type minutes struct {
	mu     sync.Mutex
	counts []views.Counts
}

// sample reads the counts each minute until ctx ends. It leaves out a minute in which they cannot be read.
func (m *minutes) sample(ctx context.Context, read Reader) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		var now views.Counts
		if read(ctx, func(c *core.Core) { now = c.Views().Counts() }) == nil {
			m.mu.Lock()
			m.counts = append(m.counts, now)
			m.counts = m.counts[max(len(m.counts)-maxSamples-1, 0):]
			m.mu.Unlock()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// rates has the parts of a summary about the last minute and the last hour.
type rates struct {
	perMinute        int64
	finished, failed int64
	delay            *Percentiles
}

// rates computes the rates from the present counts and the samples.
func (m *minutes) rates(now *views.Counts) rates {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := rates{}
	if n := len(m.counts); n >= 2 {
		r.perMinute = m.counts[n-1].Launched - m.counts[n-2].Launched
	}
	from := views.Counts{FireDelay: stats.NewLatencies()}
	if len(m.counts) > 0 { // the first sample is of the beginning of the term, or of an hour ago
		from = m.counts[0]
	}
	r.finished, r.failed = now.Finished-from.Finished, now.Failed-from.Failed
	if delays := now.FireDelay.Since(&from.FireDelay); delays.Count() > 0 {
		r.delay = &Percentiles{P50: delays.Quantile(0.5), P95: delays.Quantile(0.95)}
	}
	return r
}
