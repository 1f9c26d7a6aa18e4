package database

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
)

// BenchmarkCommit measures consecutive small commits, each of which is on the disk when it is answered.
func BenchmarkCommit(b *testing.B) {
	for _, writes := range []int{1, 3, 100} {
		b.Run(fmt.Sprint(writes, "-writes"), func(b *testing.B) {
			_, term := lead(b, Options{DSN: shared.Server(b).Database(b)})
			value := bytes.Repeat([]byte("v"), 300)
			n := 0
			for b.Loop() {
				n++
				all := make([]registry.Write, writes)
				for i := range all {
					all[i] = registry.Write{Path: fmt.Sprintf("/scheduler/task/%d", (n*writes+i)%100_000),
						Value: value}
				}
				commit(b, term, all...)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}

// BenchmarkLoad measures a leader's first read, with 100,000 jobs.
func BenchmarkLoad(b *testing.B) {
	r, term := lead(b, Options{DSN: shared.Server(b).Database(b)})
	document := bytes.Repeat([]byte("d"), 700)
	var all []registry.Write
	for i := range 100_000 {
		all = append(all, registry.Write{Path: fmt.Sprintf("/config/job/job-%06d", i), Value: document})
	}
	began := time.Now()
	for part := range slices.Chunk(all, 50_000) {
		commit(b, term, part...)
	}
	b.Logf("100,000 jobs were committed in %v", time.Since(began))
	for b.Loop() {
		next := elect(b, r, "127.0.0.1:8899")
		found, err := next.List(b.Context(), "/")
		if err != nil || len(found) != len(all) {
			b.Fatalf("%d entries, %v", len(found), err)
		}
	}
}

// BenchmarkLeaderChange measures the time from a leader's last sign of life to the next term.
func BenchmarkLeaderChange(b *testing.B) {
	server := mariadb.Start(b)
	dsn := server.Database(b)
	for b.Loop() {
		first, term := lead(b, Options{DSN: dsn, Lease: DefaultLease})
		second := open(b, Options{DSN: dsn, Lease: DefaultLease})
		led := make(chan registry.Term, 1)
		go func() { led <- elect(b, second, "127.0.0.1:9988") }()
		awaitStandby(b, term)
		term.end(errSilent) // from now on nothing is renewed or released
		b.Logf("the change took %v", func() time.Duration { began := time.Now(); <-led; return time.Since(began) }())
		_ = first.Close()
		_ = second.Close()
	}
}

// BenchmarkRow measures a single durable update of one row, the lower bound for BenchmarkCommit.
func BenchmarkRow(b *testing.B) {
	_, term := lead(b, Options{DSN: shared.Server(b).Database(b)})
	for b.Loop() {
		if _, err := term.store.db.ExecContext(b.Context(),
			"UPDATE REGISTRY_LEASE SET lease_ms = lease_ms + 1"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "changes/s")
}
