package stats

import "math"

// Histogram counts durations, in seconds, or sizes by bucket. It is a plain value: an assignment copies it.
type Histogram struct {
	// Bounds are the inclusive upper bounds of the buckets, in ascending order. Values above the last one fall into
	// one more bucket, which is the last of Counts.
	Bounds [16]float64
	Counts [17]int64
	// Sum is the sum of all observed values.
	Sum float64
}

// NewLatencies makes an empty histogram for operations that usually take milliseconds, and up to minutes.
func NewLatencies() Histogram {
	return Histogram{Bounds: [...]float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
		60, 300}}
}

// NewDurations makes an empty histogram for durations from a fraction of a second to a day.
func NewDurations() Histogram {
	return Histogram{Bounds: [...]float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 1800, 3600, 3 * 3600,
		8 * 3600, 24 * 3600}}
}

// NewSizes makes an empty histogram for numbers of things.
func NewSizes() Histogram {
	return Histogram{Bounds: [...]float64{1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000,
		50_000}}
}

// Observe counts one value.
func (h *Histogram) Observe(value float64) {
	i := 0
	for i < len(h.Bounds) && value > h.Bounds[i] {
		i++
	}
	h.Counts[i]++
	h.Sum += value
}

// Count returns the number of observed values.
func (h *Histogram) Count() (n int64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Since returns the histogram of the values observed after earlier, which must be an earlier copy of h.
func (h *Histogram) Since(earlier *Histogram) Histogram {
	d := *h
	d.Sum -= earlier.Sum
	for i := range d.Counts {
		d.Counts[i] -= earlier.Counts[i]
	}
	return d
}

// Quantile estimates the value that a share (0 to 1) of the observed values does not exceed, in thousandths of the
// unit, rounded to a tenth; 0 if there are none. It assumes that values are spread evenly within a bucket, and counts
// values above the last bound as that bound.
func (h *Histogram) Quantile(share float64) float64 {
	rank, below := share*float64(h.Count()), 0.0
	for i, n := range h.Counts {
		if n == 0 {
			continue
		}
		if below+float64(n) < rank && i < len(h.Bounds) {
			below += float64(n)
			continue
		}
		if i == len(h.Bounds) {
			return h.Bounds[i-1] * 1000
		}
		lower := 0.0
		if i > 0 {
			lower = h.Bounds[i-1]
		}
		value := lower + (h.Bounds[i]-lower)*(rank-below)/float64(n)
		return math.Round(value*10_000) / 10
	}
	return 0
}
