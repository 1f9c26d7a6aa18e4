package cluster_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// BenchmarkLeaderChange measures how long a cluster with 1,000 jobs has no leader that is ready, after SIGKILL and
// after SIGTERM. After SIGKILL, this time includes the session timeout, which must pass first.
func BenchmarkLeaderChange(b *testing.B) {
	for _, test := range []struct {
		name   string
		signal syscall.Signal
	}{
		{"kill", syscall.SIGKILL},
		{"term", syscall.SIGTERM},
	} {
		b.Run(test.name, func(b *testing.B) {
			c := system.NewCluster(b, bin, 1, nil)
			c.StartServers(2)
			leader := c.AwaitLeader()
			c.App("idle", system.Files{"bin/start.sh": "#!/bin/sh\n"}, nil)
			for n := range 1000 {
				c.Job(fmt.Sprint("job-", n), "idle", system.Doc{"cron": "0 0 3 1 1 ?"})
			}
			var sum, longest time.Duration
			for b.Loop() {
				began := time.Now()
				c.SignalServer(leader, test.signal)
				next := c.AwaitLeader(leader)
				took := time.Since(began)
				sum, longest = sum+took, max(longest, took)
				c.AwaitServer(leader)
				c.StartServer(leader)
				c.AwaitCandidates(2)
				leader = next
			}
			b.ReportMetric(float64(sum.Milliseconds())/float64(b.N), "ms/change")
			b.ReportMetric(float64(longest.Milliseconds()), "ms/worst")
			if test.signal == syscall.SIGKILL {
				b.ReportMetric(float64(c.SessionTimeout.Milliseconds()), "ms/session-timeout")
			}
		})
	}
}
