package main

import (
	"context"
	"fmt"
	"time"
)

// throughput starts and finishes 500 shards a second of a script of /bin/sh.
func throughput(ctx context.Context, bin string, d time.Duration) error {
	return withServer(ctx, bin, func(s *server) error {
		if err := s.app("quick", "#!/bin/sh\nexit 0\n"); err != nil {
			return err
		}
		const jobs, shards = 10, 50
		for i := range jobs {
			if err := s.job(fmt.Sprintf("job_%d", i), "quick", "* * * * * ?", shards); err != nil {
				return err
			}
		}
		if err := wait(ctx, 3*time.Second); err != nil {
			return err
		}
		before, err := s.metric("elasticjob_tasks_finished_total")
		if err != nil {
			return err
		}
		used, err := usageOf(s.cmd.Process.Pid)
		if err != nil {
			return err
		}
		begin := time.Now()
		if err := wait(ctx, d); err != nil {
			return err
		}
		took := time.Since(begin)
		after, err := s.metric("elasticjob_tasks_finished_total")
		if err != nil {
			return err
		}
		dropped, err := s.metric("elasticjob_fires_dropped_total")
		if err != nil {
			return err
		}
		now, err := usageOf(s.cmd.Process.Pid)
		if err != nil {
			return err
		}
		fmt.Printf("  asked for %d shards a second: %.0f a second finished over %s, %.0f fires dropped; server %.2f cores\n",
			jobs*shards, (after-before)/took.Seconds(), took.Round(time.Second), dropped, (now.cpu-used.cpu).Seconds()/took.Seconds())
		return memory(s)
	})
}
