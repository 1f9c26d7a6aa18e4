package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// run is what has been shown of an execution.
type run struct {
	id     string
	full   bool           // show each shard and its output; otherwise only problems, and one line at the end
	begun  bool           // show was called
	idle   int            // how many times the execution was found waiting
	states map[int]string // by shard
}

// phrases are the words for the server's constants in the demo's output.
var phrases = map[string]string{
	"NORMAL_TRIGGER": "fired by its cron", "TRIGGER": "triggered",
	"MISFIRE": "fired late: the run before it took longer",
	"RUNNING": "runs", "FINISHED": "finished", "FAILED": "failed", "KILLED": "was killed", "LOST": "was lost",
}

// show writes what has changed in an execution.
func (w *watcher) show(ctx context.Context, r *run, e execution) {
	if r.full && !r.begun {
		w.screen.event(e.JobName, "%s: execution %s, %s", phrases[e.Source], e.ExecutionID,
			count(len(e.Shards), "shard", "shards"))
	}
	r.begun = true
	if e.State == "WAITING" {
		// Most executions wait for a moment only, which is not worth a line.
		if r.idle++; r.idle == 10 && e.Reason != "" {
			w.screen.event(e.JobName, "waits: %s", e.Reason)
		}
	}
	for _, s := range e.Shards {
		before := r.states[s.Item]
		r.states[s.Item] = s.State
		if s.State != before {
			w.showShard(ctx, r, e, s)
		}
	}
	if e.over() {
		w.showEnd(e)
	}
}

func (w *watcher) showShard(ctx context.Context, r *run, e execution, s shard) {
	switch {
	case s.State == "WAITING" || s.State == "LAUNCHING":
	case s.State == "RUNNING":
		if r.full {
			w.screen.event(e.JobName, "shard %d runs", s.Item)
		}
	case s.State == "FINISHED":
		if r.full {
			w.screen.event(e.JobName, "shard %d finished, exit status 0; its output:", s.Item)
			w.showOutput(ctx, s, "stdout")
		}
	default:
		cause := s.FailureCause
		if cause == "" {
			cause = "no reason is known"
		}
		first, rest, _ := strings.Cut(cause, "\n")
		w.screen.event(e.JobName, "shard %d %s: %s", s.Item, phrases[s.State], first)
		w.screen.quote(rest)
	}
}

func (w *watcher) showOutput(ctx context.Context, s shard, stream string) {
	text, err := w.api.output(ctx, s.TaskID, stream)
	if err != nil {
		w.screen.text("(no output: %v)", err)
		return
	}
	w.screen.quote(text)
}

func (w *watcher) showEnd(e execution) {
	w.screen.event(e.JobName, "%s%s%s", phrases[e.State], took(e), ended(e))
}

// took returns the time between the first start and the last end of a shard, as " after 1.2s"; "" if unknown.
func took(e execution) string {
	var first, last time.Time
	for _, s := range e.Shards {
		if s.StartTime == nil || s.CompleteTime == nil {
			continue
		}
		if first.IsZero() || s.StartTime.Before(first) {
			first = *s.StartTime
		}
		if s.CompleteTime.After(last) {
			last = *s.CompleteTime
		}
	}
	if first.IsZero() {
		return ""
	}
	return " after " + last.Sub(first).Round(10*time.Millisecond).String()
}

// ended describes a run that has ended by its shards, those with several attempts, and its id: ", 3 shards  (id)".
func ended(e execution) string {
	var repeated []string
	for _, s := range e.Shards {
		if s.Attempt > 1 {
			repeated = append(repeated, fmt.Sprintf("shard %d in attempt %d", s.Item, s.Attempt))
		}
	}
	text := ", " + count(len(e.Shards), "shard", "shards")
	if repeated != nil {
		text += ", " + strings.Join(repeated, ", ")
	}
	return text + "  (" + e.ExecutionID + ")"
}
