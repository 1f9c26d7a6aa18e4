package agents

import (
	"cmp"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// remoteClock estimates from reports the error of an agent's clock. A report that took long to arrive looks like one
// of a clock that is behind; no report can look like one of a clock further ahead than it is. So the largest of the
// last clockSamples, whose report took the shortest time, is the most accurate. If it is ahead, so is the clock; the
// clock counts as behind only when all samples are.
type remoteClock struct {
	samples []clockSample // the oldest first
	// recorded is the recorded error, positive if the clock is ahead; 0 while it is right. People see it. It changes
	// by clockTolerance or more, or when the clock becomes right or wrong, because each change affects the
	// explanations of everything that runs there.
	recorded time.Duration
}

// clockSample keeps the quickest of the reports that arrived close together: when a leader wakes up, they all arrive
// at once, and all late.
type clockSample struct {
	at    time.Time
	ahead time.Duration // relative to the time of the term
}

const (
	clockSamples   = 6
	sampleInterval = wire.ReportInterval / 2
	// clockTolerance is the error up to which a clock counts as right.
	clockTolerance = time.Second
	// maxClockOff is the error from which a report counts as garbage, not as a clock.
	maxClockOff = 100 * 365 * 24 * time.Hour
)

// add adds the time of the agent's clock in a report that arrives now.
func (r *remoteClock) add(now, reported time.Time) {
	ahead := reported.Sub(now)
	if ahead.Abs() > maxClockOff {
		return
	}
	if n := len(r.samples); n > 0 && now.Sub(r.samples[n-1].at) < sampleInterval {
		r.samples[n-1].ahead = max(r.samples[n-1].ahead, ahead)
		return
	}
	r.samples = append(r.samples, clockSample{now, ahead})
	r.samples = r.samples[max(len(r.samples)-clockSamples, 0):]
}

// drift returns how far the clock is ahead of the wall clock; negative when it is behind, 0 while it is right or too
// little is known. now is the time of the term and wall the wall clock at the same moment. A clock that was off must
// come within half of clockTolerance to count as right again.
func (r *remoteClock) drift(now, wall time.Time) time.Duration {
	if len(r.samples) == 0 {
		return 0
	}
	newest := slices.MaxFunc(r.samples, func(a, b clockSample) int { return cmp.Compare(a.ahead, b.ahead) })
	ahead, limit := newest.ahead-wall.Sub(now), clockTolerance
	if r.recorded != 0 {
		limit /= 2
	}
	if ahead > limit || ahead < -limit && len(r.samples) == clockSamples {
		return ahead
	}
	return 0
}
