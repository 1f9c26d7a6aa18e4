package scheduler_test

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/scheduler/explain"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

// TestWatched: a read after an answer sees the change, a stream reports it, and both end with the term.
func TestWatched(t *testing.T) {
	leading(t, nil, func(t *testing.T, s *stage) {
		all := func() view.Page {
			p, err := s.JobPage(t.Context(), explain.All(), view.Query{Sort: view.ByName, Page: 1, PerPage: 10})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		rows := all().Rows
		if len(rows) != 1 || rows[0].ShardingTotalCount != 3 || rows[0].LastRun != nil || len(rows[0].Runs) != 0 {
			t.Fatalf("%+v", rows)
		}
		stream, err := s.Follow(t.Context(), explain.All())
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		id, err := s.Trigger(t.Context(), explain.All(), rows[0].JobName, "")
		if err != nil {
			t.Fatal(err)
		}
		if runs := all().Rows[0].Runs; len(runs) != 1 || runs[0].ExecutionID != id {
			t.Errorf("triggered, and the list has %+v", runs)
		}
		<-stream.Changed()
		if o, err := s.Overview(t.Context(), explain.All()); err != nil || o.Summary.Apps != 1 ||
			!*o.Summary.Subscribed {
			t.Errorf("%+v, %v", o, err)
		}
		s.end()
		<-stream.Ended()
		if _, err := s.JobPage(t.Context(), explain.All(), view.Query{Page: 1, PerPage: 1}); err == nil {
			t.Error("a list without a term")
		}
	})
}
