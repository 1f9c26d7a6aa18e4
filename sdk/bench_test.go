package sdk_test

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkRun measures one run of a resident process, from the executor's message to the process's answer. Both go
// through a pipe between two processes.
func BenchmarkRun(b *testing.B) {
	p := golang.resident(b)
	line := runLine("r", "")
	var durations []time.Duration
	for b.Loop() {
		began := time.Now()
		p.send(line)
		if failure, _ := p.done("r"); failure != "" {
			b.Fatal(failure)
		}
		durations = append(durations, time.Since(began))
	}
	slices.Sort(durations)
	for name, share := range map[string]float64{"p50-µs": 0.5, "p99-µs": 0.99} {
		b.ReportMetric(float64(durations[int(share*float64(len(durations)-1))].Nanoseconds())/1e3, name)
	}
	p.close(p.toProcess)
	p.expectExit(0)
}
