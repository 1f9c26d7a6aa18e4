package agents

import (
	"cmp"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// remoteClock estimates from reports the error of an agent's clock. A report that takes long to arrive makes the clock
// look behind; no report makes it look further ahead than it is. So the sample with the largest value, whose report
// took the shortest time, is the most accurate of the last clockSamples. If it is ahead, so is the clock. The clock
// counts as behind only when all samples are behind.
type remoteClock struct {
	samples []clockSample // the oldest first
	// recorded is the error that users see, positive if the clock is ahead; 0 while the clock is right. It is
	// replaced only by an error that differs by clockTolerance or more, or when the clock becomes right or wrong,
	// because each change affects the explanations of all tasks there.
	recorded time.Duration
}

// clockSample has the quickest of the reports that arrived within sampleInterval. When a leader has stood still, many
// reports arrive at once, and all of them late.
type clockSample struct {
	at    time.Time
	ahead time.Duration // relative to the time of the term
}

const (
	clockSamples   = 6
	sampleInterval = wire.ReportInterval / 2
	// clockTolerance is the error up to which a clock counts as right.
	clockTolerance = time.Second
	// maxClockOff is the error above which a report counts as garbage.
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

// drift returns how far the clock is ahead of the wall clock, negative if it is behind. It is 0 while the clock is
// right or there are too few samples. now is the time of the term and wall the wall clock at the same moment. A clock
// that was wrong must come within half of clockTolerance to count as right again.
func (r *remoteClock) drift(now, wall time.Time) time.Duration {
	if len(r.samples) == 0 {
		return 0
	}
	quickest := slices.MaxFunc(r.samples, func(a, b clockSample) int { return cmp.Compare(a.ahead, b.ahead) })
	ahead, limit := quickest.ahead-wall.Sub(now), clockTolerance
	if r.recorded != 0 {
		limit /= 2
	}
	if ahead > limit || ahead < -limit && len(r.samples) == clockSamples {
		return ahead
	}
	return 0
}
