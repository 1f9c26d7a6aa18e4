package view_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

// manyRows returns a view of n jobs that fire once a day.
func manyRows(b *testing.B, n int) *stage {
	docs := []any{}
	for i := range 100 {
		docs = append(docs, anApp(fmt.Sprintf("app%02d", i)))
	}
	for i := range n {
		docs = append(docs, aJob(fmt.Sprintf("job_%06d", i), fmt.Sprintf("app%02d", i%100),
			cron(fmt.Sprintf("%d %d 3 * * ?", i%60, i/60%60)),
			described(fmt.Sprintf("Settles the accounts of branch %d, and reports what is left of them", i))))
	}
	s := newStage(b, docs...)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := s.Totals(b.Context(), explain.All()); err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	s.bytesPerJob = float64(after.HeapAlloc-before.HeapAlloc) / float64(n)
	return s
}

// BenchmarkPage measures a page of 50 of 100,000 jobs, of which 100 have changed since the last page, as with 1,000
// changes and ten pages a second.
func BenchmarkPage(b *testing.B) {
	s := manyRows(b, 100_000)
	kept := s.last
	for name, q := range map[string]view.Query{
		"by name":           {},
		"search":            {Search: "branch 77 accounts"},
		"search of nothing": {Search: "nowhere"},
		"by next fire":      {Sort: view.ByNextFire},
		"by app, the last":  {Sort: view.ByApp, Page: 2000},
		"in a state":        {States: []string{"RUNNING"}},
		"of some apps":      {},
	} {
		q.PerPage = 50
		scope := explain.All()
		if name == "of some apps" {
			scope = of("app07")
		}
		b.Run(name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				var ch step.Changed
				for range 100 {
					i = (i + 1) % 100_000
					ch.Jobs = append(ch.Jobs, fmt.Sprintf("job_%06d", i))
				}
				s.Note(ch)
				s.pageFor(scope, q)
			}
		})
	}
	runtime.KeepAlive(kept)
}

// BenchmarkOverview measures the overview of 100,000 jobs, once a second.
func BenchmarkOverview(b *testing.B) {
	s := manyRows(b, 100_000)
	for b.Loop() {
		s.now = s.now.Add(time.Second)
		s.problems(explain.All())
	}
}

// BenchmarkNote measures how long the loop takes to note a decision with ten changes.
func BenchmarkNote(b *testing.B) {
	s := manyRows(b, 1000)
	var ch step.Changed
	for i := range 10 {
		ch.Jobs, ch.Executions = append(ch.Jobs, fmt.Sprintf("job_%06d", i)),
			append(ch.Executions, fmt.Sprintf("job_%06d@20260501T120000Z", i))
	}
	for b.Loop() {
		s.Note(ch)
	}
}

// BenchmarkFill measures reading all rows, as at the beginning of a term.
func BenchmarkFill(b *testing.B) {
	s := manyRows(b, 100_000)
	for b.Loop() {
		j := view.New(s.read)
		if _, err := j.Totals(b.Context(), explain.All()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(s.bytesPerJob, "B/job")
}
