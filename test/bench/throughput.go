package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// throughput runs 500 shards a second of a /bin/sh script from the first second on, with an executor that runs already.
func throughput(ctx context.Context, bin string, d time.Duration, r *results) error {
	return withServer(ctx, bin, func(s *server) error {
		if err := s.app("quick", "#!/bin/sh\nexit 0\n"); err != nil {
			return err
		}
		if err := s.warm(ctx, "quick"); err != nil {
			return err
		}
		// All jobs fire at each full second. They are registered right after a full second, so that all of them fire
		// equally often.
		const jobs, shards = 10, 50
		begin := time.Now().Truncate(time.Second).Add(time.Second)
		if err := wait(ctx, time.Until(begin)); err != nil {
			return err
		}
		for i := range jobs {
			if err := s.job(fmt.Sprintf("job_%d", i), "quick", "* * * * * ?", shards); err != nil {
				return err
			}
		}
		var seconds []work
		for at := begin.Add(1900 * time.Millisecond); !at.After(begin.Add(d +
			900*time.Millisecond)); at = at.Add(time.Second) {
			if err := wait(ctx, time.Until(at)); err != nil {
				return err
			}
			now, err := s.work()
			if err != nil {
				return err
			}
			seconds = append(seconds, now)
		}
		// CPU time is compared from the second fire on, when the executor exists.
		first, last := seconds[0], seconds[len(seconds)-1]
		rate := (last.finished - warmUpShards) / d.Seconds()
		fmt.Printf("  asked for %d shards a second: %.1f a second finished over %s, %.0f fires dropped\n", jobs*shards,
			rate, d, last.dropped)
		fmt.Print("  finished by the end of the first seconds:")
		for _, w := range seconds[:min(len(seconds), 8)] {
			fmt.Printf(" %.0f", w.finished)
		}
		fmt.Println()
		per := func(cpu func(work) time.Duration) float64 {
			return (cpu(last) - cpu(first)).Seconds() * 1000 / (last.finished - first.finished)
		}
		server, executors, scripts := per(func(w work) time.Duration { return w.server }),
			per(func(w work) time.Duration { return w.executors }),
			per(func(w work) time.Duration { return w.scripts })
		fmt.Printf("  CPU per shard, ms: server %.2f, executor and supervisor %.2f, fork to end of script %.2f, all %.2f\n",
			server, executors, scripts, server+executors+scripts)
		r.atLeast("shards a second of a /bin/sh script, asked for 500", "/s", 0.998*jobs*shards, rate)
		r.atMost("CPU time of a shard, its script included", " ms", 4, server+executors+scripts)
		return memory(s)
	})
}

// tasksFinished is the series of /metrics that counts finished shards.
const tasksFinished = `elasticjob_tasks_ended_total{result="FINISHED"}`

// warmUpShards is the number of shards that run before the measurement.
const warmUpShards = 1

// warm runs a shard of an app, so that its executor exists.
func (s *server) warm(ctx context.Context, app string) error {
	if err := s.job("warm", app, "0 0 3 1 1 ?", warmUpShards); err != nil {
		return err
	}
	if err := s.post("/api/job/warm/trigger", nil); err != nil {
		return err
	}
	for {
		if finished, err := s.metric(tasksFinished); err != nil || finished == warmUpShards {
			return err
		}
		if err := wait(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// work is the work done so far, and the CPU time for it.
type work struct {
	finished, dropped          float64       // the number of shards and of fires
	server, executors, scripts time.Duration // CPU time; that of executors includes their supervisors
}

func (s *server) work() (w work, err error) {
	var errs []error
	metric := func(name string) float64 {
		value, err := s.metric(name)
		errs = append(errs, err)
		return value
	}
	w.finished, w.dropped = metric(tasksFinished), metric("elasticjob_fires_dropped_total")
	u, err := usageOf(s.cmd.Process.Pid)
	errs = append(errs, err)
	w.server = u.cpu
	for _, pid := range s.executors() {
		if u, err := usageOf(pid); err == nil { // the process may have ended
			w.executors += u.cpu
			w.scripts += u.reaped
		}
	}
	return w, errors.Join(errs...)
}
