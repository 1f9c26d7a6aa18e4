package sdk_test

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkRun measures one run of a resident process, from the executor's message to its answer: two pipes, two
// processes.
func BenchmarkRun(b *testing.B) {
	p := golang.resident(b)
	line := runLine("r", "")
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		p.say(line)
		if failure, _ := p.done("r"); failure != "" {
			b.Fatal(failure)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	for name, share := range map[string]float64{"p50-µs": 0.5, "p99-µs": 0.99} {
		b.ReportMetric(float64(took[int(share*float64(len(took)-1))].Nanoseconds())/1e3, name)
	}
	p.close(p.orders)
	p.ends(0)
}
