package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// results are the results that have a target, for the table at the end.
type results struct{ rows []result }

type result struct {
	what, measured, wanted string
	held                   bool
}

// atMost records the median of several runs, which must not be above the limit.
func (r *results) atMost(what, unit string, limit float64, runs ...float64) {
	r.add(what, unit, "at most", limit, runs, median(runs) <= limit)
}

// atLeast records the median of several runs, which must not be below the limit.
func (r *results) atLeast(what, unit string, limit float64, runs ...float64) {
	r.add(what, unit, "at least", limit, runs, median(runs) >= limit)
}

func (r *results) add(what, unit, bound string, limit float64, runs []float64, held bool) {
	measured := fmt.Sprintf("%.4g%s", median(runs), unit)
	if len(runs) > 1 {
		measured += fmt.Sprintf(" (%d runs: %.4g to %.4g)", len(runs), slices.Min(runs), slices.Max(runs))
	}
	r.rows = append(r.rows, result{what, measured, fmt.Sprintf("%s %.4g%s", bound, limit, unit),
		len(runs) > 0 && held})
}

func (r *results) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	write := func(cells ...string) { _, _ = fmt.Fprintln(table, strings.Join(cells, "\t")) } // Flush reports the error
	write("what", "measured", "wanted", "held")
	for _, row := range r.rows {
		write(row.what, row.measured, row.wanted, map[bool]string{true: "yes", false: "no"}[row.held])
	}
	return table.Flush()
}

// median returns the median. Of an even number of values it returns the upper of the two in the middle, of none 0.
func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile returns the value at the fraction q of the sorted values: for 0 the smallest, for 1 the largest. Of no
// values it returns 0.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
