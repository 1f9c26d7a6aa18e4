package history

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestOnlyTheLeaderCountsAndDeletes checks that a process maintains the database only while it leads.
func TestOnlyTheLeaderCountsAndDeletes(t *testing.T) {
	recording(t, func(t *testing.T, s *stage) {
		time.Sleep(time.Hour)
		if s.db.recounts > 0 || len(s.db.deleted) > 0 {
			t.Error("a process that does not lead counts or deletes")
		}
		s.db.set(func() { s.db.deletes = []int{1000, 1000, 3} })
		s.Lead(true)
		time.Sleep(61 * time.Second)
		s.Lead(false)
		synctest.Wait()
		if s.db.recounts != 13 || len(s.db.deleted) != 4 ||
			time.Since(s.db.deleted[0]).Round(24*time.Hour) != 30*24*time.Hour {
			t.Errorf("in a minute the leader counted %d times and deleted %v", s.db.recounts, s.db.deleted)
		}
		before := s.db.recounts
		time.Sleep(time.Hour)
		if s.db.recounts != before {
			t.Error("a former leader counts")
		}
	})
}

// TestALeapOfTheClockDeletesNothing checks that no new rows are deleted if the wall clock is in 2099 for a while, even
// at the start.
func TestALeapOfTheClockDeletesNothing(t *testing.T) {
	recording(t, func(t *testing.T, s *stage) {
		s.ahead.Store(int64(73 * 365 * 24 * time.Hour))
		s.Lead(true)
		time.Sleep(5 * time.Minute)
		s.ahead.Store(0)
		time.Sleep(2 * time.Hour)
		s.ahead.Store(int64(73 * 365 * 24 * time.Hour))
		time.Sleep(10 * time.Minute)
		s.ahead.Store(0)
		time.Sleep(10 * time.Minute)
		s.Lead(false)
		synctest.Wait()
		for _, before := range s.db.deleted {
			if before.After(time.Now()) {
				t.Fatalf("rows older than %s are deleted", before)
			}
		}
		right := func(before time.Time) bool { return time.Since(before) < 31*24*time.Hour }
		if n := len(s.db.deleted); n < 135 || !slices.ContainsFunc(s.db.deleted, right) {
			t.Errorf("%d deletions in 135 minutes", n)
		}
	})
}

// TestDeletionHoldsNoStatisticsUp checks that statistics are counted during a deletion of millions of rows, which
// takes hours.
func TestDeletionHoldsNoStatisticsUp(t *testing.T) {
	recording(t, func(t *testing.T, s *stage) {
		s.db.set(func() {
			s.db.deleteTakes = 50 * time.Millisecond
			s.db.deletes = slices.Repeat([]int{maxDeleted}, 36_000)
		})
		s.Lead(true)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		s.db.mu.Lock()
		defer s.db.mu.Unlock()
		if n := s.db.recounts; n < 100 || n > 121 {
			t.Errorf("statistics were counted %d times in ten minutes", n)
		}
		if n := len(s.db.deleted); n < 5500 || n > 6001 {
			t.Errorf("%d calls have deleted", n)
		}
	})
}
