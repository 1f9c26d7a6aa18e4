package orphans

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// TestIndexes plays random changes of a set. After each change, the indexes of the blocking orphans and of those of
// former frameworks must agree with an iteration over all orphans. At the end, the stored orphans must be the same as
// the set, except that none is reported.
func TestIndexes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, now, present := New(&step.Shared{}), time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC), "F1"
		stored := map[string][]byte{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Second)
			id := fmt.Sprint("task-", rapid.IntRange(0, 5).Draw(t, "task"))
			before, existed := s.Get(id)
			s.shared.MatchDone()
			s.shared.TakeNeedChanged()
			switch rapid.IntRange(0, 10).Draw(t, "change") {
			case 0, 1, 2:
				if !existed {
					s.Add(Orphan{
						TaskID: id, Job: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "job"),
						Item:  rapid.IntRange(0, 2).Draw(t, "item"),
						Agent: "S1", Framework: present, Since: now,
						Blocks: rapid.Bool().Draw(t, "blocks"), Reported: rapid.Bool().Draw(t, "reported"),
					})
				}
			case 3:
				s.Remove(id)
			case 4:
				s.MarkReported(id)
			case 5:
				s.MarkUnreported(id)
			case 6:
				s.RecordStaged(id, now)
			case 7:
				s.MarkAlive(id)
				if after, exists := s.Get(id); exists && (!after.Blocks || !after.Away.IsZero()) {
					t.Fatalf("MarkAlive made %+v to %+v", before, after)
				}
			case 8:
				s.MarkAway(id, now)
				if o, _ := s.Get(id); !o.Away.IsZero() && !o.Blocks {
					t.Fatalf("MarkAway left an orphan that does not block: %+v", o)
				}
			case 9:
				s.Unblock(id)
			default:
				s.RecordRemovedBy(id, "M1")
				present += "'"
				s.ResetFormer()
			}
			checkIndexes(t, s, present)
			after, exists := s.Get(id)
			blocked, blocks := existed && before.IsBlocking(), exists && after.IsBlocking()
			// Without an orphan, the executor gets tasks.
			executorFreed := existed && !exists && !s.ExistOn(before.Executor)
			wantMatch := blocked && !blocks || executorFreed
			needChanged := s.shared.TakeNeedChanged()
			if s.shared.MatchRequested() != wantMatch || !needChanged && blocked != blocks {
				t.Fatalf("blocked before %v, after %v: match requested %v, want %v; need changed %v", blocked, blocks,
					s.shared.MatchRequested(), wantMatch, needChanged)
			}
			var c store.Commit
			s.Write(&c)
			for _, w := range c.Writes() {
				if stored[w.Path] = w.Value; w.Delete {
					delete(stored, w.Path)
				}
			}
		}
		restored := New(&step.Shared{})
		for _, value := range stored {
			var o Orphan
			if err := json.Unmarshal(value, &o); err != nil {
				t.Fatal(err)
			}
			restored.Restore(o)
		}
		s.MarkAllUnreported()
		if got, want := fmt.Sprintf("%+v", restored.All()), fmt.Sprintf("%+v", s.All()); got != want {
			t.Fatalf("the restored orphans are\n%s\nwant\n%s", got, want)
		}
	})
}

// checkIndexes compares the indexes with an iteration over all orphans.
func checkIndexes(t *rapid.T, s *Set, present string) {
	all, former := s.All(), 0
	for _, o := range all {
		if o.Framework != present {
			former++
		}
	}
	for _, job := range []string{"a", "b"} {
		for item := range 4 {
			want, wantAmong := "", "" // the tasks that block the item, and any smaller item
			for i := range all {
				o := &all[i]
				if o.Job != job || !o.IsBlocking() {
					continue
				}
				if o.Item == item && want == "" {
					want = o.TaskID
				}
				if o.Item < item && wantAmong == "" {
					wantAmong = o.TaskID
				}
			}
			if o, blocks := s.Blocking(job, item); o.TaskID != want || blocks != (want != "") {
				t.Fatalf("%s/%d is blocked by %q, want %q", job, item, o.TaskID, want)
			}
			if o, blocks := s.BlockingAmong(job, item); o.TaskID != wantAmong || blocks != (wantAmong != "") {
				t.Fatalf("the first %d items of %s are blocked by %q, want %q", item, job, o.TaskID, wantAmong)
			}
		}
	}
	if n := len(s.FormerOn("S1", present)); n != former || s.Len() != len(all) {
		t.Fatalf("%d of %d orphans are of former frameworks, want %d of %d", n, s.Len(), former, len(all))
	}
}
