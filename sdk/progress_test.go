package sdk

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressPassesOnTheNewest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent []string
		p := &progress{interval: time.Second,
			send: func(fraction float64, message string) { sent = append(sent, fmt.Sprint(fraction, " ", message)) }}
		for i := range 35 { // never at the time of a timer
			p.set(float64(i)/100, "x")
			time.Sleep(101 * time.Millisecond)
		}
		synctest.Wait()
		time.Sleep(10 * time.Second) // the last report is sent although no other follows
		p.set(0.5, "later")
		p.set(0.6, "later")
		synctest.Wait()
		p.set(0.7, "last")
		p.close()
		p.set(1, "too late")
		time.Sleep(time.Minute)
		if want := []string{"0 x", "0.09 x", "0.19 x", "0.29 x", "0.34 x", "0.6 later",
			"0.7 last"}; !slices.Equal(sent, want) {
			t.Errorf("sent %q, want %q", sent, want)
		}
	})
}

// TestProgressNeverWaits checks that a blocked sender blocks only close, and not set.
func TestProgressNeverWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent []string
		release := make(chan struct{})
		p := &progress{interval: time.Second, send: func(_ float64, message string) {
			<-release
			sent = append(sent, message)
		}}
		for i := range 100 {
			p.set(0, fmt.Sprint(i))
			synctest.Wait() // the first one is being sent
		}
		go close(release)
		p.close()
		synctest.Wait()
		if want := []string{"0", "99"}; !slices.Equal(sent, want) {
			t.Errorf("sent %q, want %q", sent, want)
		}
	})
}

func TestProgressIsBounded(t *testing.T) {
	t.Parallel()
	for given, want := range map[float64]float64{-1: 0, 0: 0, 0.5: 0.5, 1: 1, 7: 1, math.Inf(1): 1, math.Inf(-1): 0} {
		if got := clamp(given); got != want {
			t.Errorf("%v becomes %v, want %v", given, got, want)
		}
	}
	if got := clamp(math.NaN()); got != 0 {
		t.Errorf("NaN becomes %v", got)
	}
	for given, want := range map[string]string{
		"": "", "abc": "abc", "abcd": "abcd", "abcde": "abcd", "abcü": "abc",
		"\xff\xff\xff\xff\xff": "\xff\xff\xff\xff", strings.Repeat("\xbf", 9): "",
	} {
		if got := cut(given, 4); got != want {
			t.Errorf("%q is cut to %q, want %q", given, got, want)
		}
	}
	Shard{}.Progress(1, "a shard of a test") // does nothing
}

func BenchmarkProgress(b *testing.B) {
	p := &progress{interval: progressInterval, send: func(float64, string) {}}
	s := Shard{progress: p}
	b.Run("one goroutine", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Progress(0.5, "half of it")
		}
	})
	b.Run("all goroutines", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				s.Progress(0.5, "half of it")
			}
		})
	})
	p.close()
}
