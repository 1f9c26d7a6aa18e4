package zookeeper_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// BenchmarkCommit measures the latency of a commit, with ZooKeeper's fsync.
func BenchmarkCommit(b *testing.B) {
	server := zkserver.Start(b)
	for _, writes := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("%d writes", writes), func(b *testing.B) {
			_, term := lead(b, zookeeper.Options{Servers: server.Address(), Namespace: namespace()})
			value := strings.Repeat("x", 400)
			var took []time.Duration
			for n := 0; b.Loop(); n++ {
				var all []registry.Write
				for i := range writes {
					all = append(all, put(fmt.Sprintf("/s/execution/%d", (n*writes+i)%10_000), value))
				}
				began := time.Now()
				commit(b, term, all...)
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// BenchmarkLoad measures the start of a new leader with 100,000 jobs: document and state of each.
func BenchmarkLoad(b *testing.B) {
	server := zkserver.Start(b)
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace(), SessionTimeout: 10 * time.Second}
	r, term := lead(b, o)
	const jobs = 100_000
	document, state := strings.Repeat("d", 500), strings.Repeat("s", 100)
	for n := 0; n < jobs; n += 500 {
		var all []registry.Write
		for i := n; i < n+500; i++ {
			all = append(all, put(fmt.Sprintf("/config/job/job-%06d", i), document),
				put(fmt.Sprintf("/s/job/job-%06d", i), state))
		}
		commit(b, term, all...)
	}
	for b.Loop() {
		if err := term.Resign(b.Context()); err != nil {
			b.Fatal(err)
		}
		term = campaign(b, r, "127.0.0.1:8899")
		for _, path := range []string{"/config", "/state/disable", "/ha", "/s"} {
			if _, err := term.List(b.Context(), path); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/load")
}

// BenchmarkHandOver measures the time from a leader's Resign to the next term.
func BenchmarkHandOver(b *testing.B) {
	server := zkserver.Start(b)
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
	r, term := lead(b, o)
	other := open(b, o)
	for b.Loop() {
		next := make(chan registry.Term)
		go func() {
			term, err := other.Campaign(b.Context(), "127.0.0.1:9988")
			if err != nil {
				b.Error(err)
			}
			next <- term
		}()
		b.StopTimer()
		client := server.Client(b)
		eventually(b, "a second candidate", func() bool {
			names, _, err := client.Children("/" + o.Namespace + "/ha/election")
			return err == nil && len(names) == 2
		})
		b.StartTimer()
		if err := term.Resign(b.Context()); err != nil {
			b.Fatal(err)
		}
		term = <-next
		r, other = other, r
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/hand-over")
}
