package cron_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

func BenchmarkParse(b *testing.B) {
	for _, expr := range []string{"0 0/5 * * * ?", "0 0,30 9-17 ? JAN-NOV MON-FRI 2026-2030"} {
		b.Run(expr, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mustParse(b, expr, nil)
			}
		})
	}
}

func BenchmarkNext(b *testing.B) {
	for _, expr := range []string{"* * * * * ?", "0 0 2 * * ?", "0 0 12 LW * ?", "0 0 0 29 2 ?", "0 0 0 30 2 ?",
		"0 30 2 ? 3 1#2"} {
		for _, name := range []string{"UTC", "America/New_York"} {
			b.Run(expr+" "+name, func(b *testing.B) {
				s := mustParse(b, expr, zone(b, name))
				b.ReportAllocs()
				at := noon
				for b.Loop() {
					if next := s.Next(at); !next.IsZero() && next.Year() < 2100 {
						at = next
					} else {
						at = noon
					}
				}
			})
		}
	}
}

func BenchmarkLatest(b *testing.B) {
	for _, expr := range []string{"* * * * * ?", "0 0 * * * ?", "* * * 1 1 ?"} {
		b.Run("100 of "+expr, func(b *testing.B) {
			s := mustParse(b, expr, zone(b, "America/New_York"))
			for b.Loop() {
				s.Latest(noon.AddDate(-1, 0, 0), noon, 100)
			}
		})
	}
}

// timetableOf returns a timetable of n jobs with the given number of different expressions.
func timetableOf(b *testing.B, n, expressions int) *cron.Timetable {
	b.Helper()
	tt := cron.NewTimetable()
	schedules := make([]*cron.Schedule, expressions)
	for i := range schedules {
		schedules[i] = mustParse(b, fmt.Sprintf("%d %d %d * * ?", i%60, i/60%60, i/3600%24), nil)
	}
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		tt.Set(fmt.Sprintf("job-%06d", i), schedules[i%expressions], noon)
	}
	return tt
}

func BenchmarkTimetableSet(b *testing.B) {
	const jobs = 100_000
	for _, expressions := range []int{1, 1_000, 86_400} {
		b.Run(fmt.Sprintf("into %d jobs in %d groups", jobs, expressions), func(b *testing.B) {
			tt := timetableOf(b, jobs, expressions)
			first, second := mustParse(b, "0 0 0 * * ?", nil), mustParse(b, "0 30 0 * * ?", nil)
			b.ReportAllocs()
			for b.Loop() {
				tt.Set("another", first, noon)
				tt.Set("another", second, noon)
				tt.Remove("another")
			}
		})
	}
}

func BenchmarkTimetablePop(b *testing.B) {
	for _, jobs := range []int{1_000, 100_000} {
		for _, expressions := range []int{1, 100, 1_000} {
			b.Run(fmt.Sprintf("of %d jobs in %d groups", jobs, expressions), func(b *testing.B) {
				tt := timetableOf(b, jobs, expressions)
				forever := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
				b.ReportAllocs()
				for b.Loop() {
					if at, _, ok := tt.Pop(forever); !ok || at.Year() > 2100 {
						b.StopTimer()
						tt = timetableOf(b, jobs, expressions)
						b.StartTimer()
					}
				}
			})
		}
		b.Run(fmt.Sprintf("of %d jobs in 100 groups at one instant", jobs), func(b *testing.B) {
			tt := cron.NewTimetable()
			for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(jobs) {
				tt.Set(fmt.Sprintf("job-%06d", i),
					mustParse(b, fmt.Sprintf("0 0 0 ? * * 1980/1,%d", 1970+i%100-100), nil), noon)
			}
			b.ReportAllocs()
			for b.Loop() {
				tt.Pop(noon.AddDate(100, 0, 0))
			}
		})
		b.Run(fmt.Sprintf("of %d jobs in one group that has changed", jobs), func(b *testing.B) {
			tt, s := cron.NewTimetable(), mustParse(b, "* * * * * ?", nil)
			for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(jobs) {
				tt.Set(fmt.Sprintf("job-%06d", i), s, noon)
			}
			tt.Pop(noon.AddDate(1, 0, 0))
			b.ReportAllocs()
			old, new := "job-000500", "job-000500x"
			for b.Loop() {
				tt.Remove(old)
				tt.Set(new, s, noon)
				tt.Pop(noon.AddDate(100, 0, 0))
				old, new = new, old
			}
		})
	}
}
