package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// watcher follows the runs of jobs and shows them.
type watcher struct {
	api    *client
	server *server
	screen *screen
	jobs   []string

	due     map[string]map[string]time.Time // the next fires, by job and execution
	seen    map[string]bool                 // ids of all executions that were found
	running []*run                          // executions that have not ended, in the order in which they were found
	full    map[string]bool                 // jobs with a run that is or was shown in full
	ended   int                             // the number of runs shown in full that have ended
	advised bool                            // what to try next has been printed
}

func newWatcher(api *client, server *server, screen *screen, jobs ...string) *watcher {
	return &watcher{api: api, server: server, screen: screen, jobs: jobs, due: map[string]map[string]time.Time{},
		seen: map[string]bool{}, full: map[string]bool{}}
}

// expect starts to follow an execution. The first of each job is shown in full.
func (w *watcher) expect(job, id string) {
	if w.seen[id] {
		return
	}
	w.seen[id] = true
	w.running = append(w.running, &run{id: id, full: !w.full[job], states: map[int]string{}})
	w.full[job] = true
}

// watch shows runs until ctx ends or the server fails.
func (w *watcher) watch(ctx context.Context) error {
	for {
		err := w.look(ctx)
		var refused *refusal
		if errors.As(err, &refused) && refused.status != http.StatusServiceUnavailable {
			return err
		}
		// Any other error means that the server is not ready or does not answer. If it has ended, exited is closed.
		if !w.advised && w.ended >= len(w.jobs) {
			w.advised = true
			w.advise()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.server.exited:
			if err := w.revive(ctx); err != nil {
				return err
			}
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// look reads everything that may have changed, and shows it.
func (w *watcher) look(ctx context.Context) error {
	for _, job := range w.jobs {
		if err := w.find(ctx, job); err != nil && !notFound(err) { // a user may have deregistered the job
			return err
		}
	}
	for _, r := range slices.Clone(w.running) {
		e, err := w.api.execution(ctx, r.id)
		if err != nil {
			return err
		}
		w.show(ctx, r, e)
		if !e.over() {
			continue
		}
		w.running = slices.DeleteFunc(w.running, func(other *run) bool { return other == r })
		if r.full {
			w.ended++
		}
	}
	return nil
}

// find finds executions of a job: those that wait or run, and those of fires since the last call, which may have
// ended already.
func (w *watcher) find(ctx context.Context, job string) error {
	current, due, err := w.api.runs(ctx, job)
	if err != nil {
		return err
	}
	for _, id := range current {
		w.expect(job, id)
	}
	for id, fire := range w.due[job] {
		if time.Now().Before(fire) {
			continue
		}
		switch _, err := w.api.execution(ctx, id); {
		case err == nil:
			w.expect(job, id)
		case !notFound(err):
			return err
		case time.Since(fire) < 2*time.Second:
			due[id] = fire // not created yet, or never if the previous run was still running
		}
	}
	w.due[job] = due
	return nil
}

func notFound(err error) bool {
	var refused *refusal
	return errors.As(err, &refused) && refused.status == http.StatusNotFound
}

// revive restarts the server after it was killed.
func (w *watcher) revive(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !w.server.killed():
		return w.server.explain("the server ended by itself")
	}
	w.screen.event("server", "killed; what it started goes on without it. Starting it again, on the same data")
	if err := w.server.start(); err != nil {
		return err
	}
	if err := w.server.awaitReady(ctx, w.api); err != nil {
		return err
	}
	w.screen.event("server", "back (process %d), and knows its runs", w.server.cmd.Process.Pid)
	return nil
}

// advise prints what to try next.
func (w *watcher) advise() {
	s, base := w.screen, w.api.base
	s.step("What to try next, in a second terminal")
	for _, try := range [][2]string{
		{"run a job now", "curl -X POST " + base + "/api/job/count_by_theme/trigger"},
		{"see when it fires, what waits for what, what runs", "curl " + base + "/api/job/word_count/explain"},
		{"change it, from the next run on", "curl -X PUT " + base + `/api/job/update -d '{"jobName":"word_count","shardingTotalCount":5}'`},
		{"make a run fail, and see why", "curl -X PUT " + base + `/api/job/update -d '{"jobName":"word_count","jobParameter":"nonsense"}'`},
		{"switch it off, and on again", "curl -X POST " + base + "/api/job/word_count/disable; curl -X POST " + base + "/api/job/word_count/enable"},
		{"kill the server in the middle of a run: this demo starts it again, and nothing is lost", fmt.Sprintf("kill -9 %d", w.server.cmd.Process.Pid)},
	} {
		s.text("%s", try[0])
		s.command("%s", try[1])
	}
	s.text("The server's log is %s; README.md goes on from here. Ctrl-C ends it all.", w.server.logFile())
	s.step("The runs go on")
}
