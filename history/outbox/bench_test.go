package outbox

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

// rows returns data like that of a batch of ten rows.
func rows(n int64) []byte {
	var b bytes.Buffer
	for i := range 10 {
		fmt.Fprintf(&b, `{"id":"0190b8c2-%04x-8%03x-9abc-%012x","rev":2,"job":"load_%d","task":"load_%d@-@%d@-@READY@-@agent-%05d@-@%016x","exec":"load_%d-%d","item":%d,"state":"FINISHED","agent":"agent-%05d","start":"2026-11-23T00:00:%02d.%03dZ"},`,
			n, i, n*31+int64(i), n%100, n%100, i, n%10000, n*77, n%100, n, i, n%10000, n%60, n%1000)
	}
	return b.Bytes()
}

// BenchmarkAppend appends batches of ten rows with a number of concurrent callers, and reads and frees them.
func BenchmarkAppend(b *testing.B) {
	for _, callers := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("%d at once", callers), func(b *testing.B) {
			log := opening(b, b.TempDir(), Options{Bytes: 1 << 30})
			read := make(chan struct{})
			ctx, cancel := context.WithCancel(b.Context())
			go func() {
				defer close(read)
				for {
					e, err := log.Next(ctx)
					if err != nil {
						return
					}
					if e.Number%100 == 0 {
						_ = log.Done(e)
					}
				}
			}()
			answers := make([]<-chan error, 0, callers)
			n := int64(0)
			for b.Loop() {
				n++
				answers = append(answers, log.Append(1, n, 10, rows(n)))
				if len(answers) == callers {
					for _, a := range answers {
						if err := <-a; err != nil {
							b.Fatal(err)
						}
					}
					answers = answers[:0]
				}
			}
			b.ReportMetric(float64(n*10)/b.Elapsed().Seconds(), "rows/s")
			cancel()
			<-read
			closing(b, log)
		})
	}
}

// BenchmarkLatency measures the time until one batch is on disk, at a number of batches per millisecond.
func BenchmarkLatency(b *testing.B) {
	for _, perMillisecond := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("%d each ms", perMillisecond), func(b *testing.B) {
			log := opening(b, b.TempDir(), Options{Bytes: 4 << 30})
			data := rows(1)
			var took []time.Duration
			var n int64
			for b.Loop() {
				next := time.Now().Add(time.Millisecond)
				for range perMillisecond - 1 {
					n++
					log.Append(1, n, 10, data)
				}
				n++
				begin := time.Now()
				if err := <-log.Append(1, n, 10, data); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(begin))
				<-time.After(time.Until(next))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
			closing(b, log)
		})
	}
}
