package history

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/reason"
)

func TestBatchesAreGathered(t *testing.T) {
	recording(t, func(t *testing.T, s *stage) {
		for n := range int64(30) {
			s.happens(steps(1, n+1, 100))
		}
		s.wantStored(1, 30)
		s.wantRows(3000)
		for _, n := range s.db.writes {
			if n > maxRows {
				t.Errorf("one transaction has %d rows", n)
			}
		}
		if st := s.Status(); st.Written != 3000 || st.Waiting != 0 || st.Down != "" || !st.Oldest.IsZero() ||
			st.LastWritten.IsZero() {
			t.Errorf("the status is %+v", st)
		}
	})
}

func TestDatabaseThatIsDown(t *testing.T) {
	recording(t, func(t *testing.T, s *stage) {
		s.db.set(func() { s.db.down = errors.New("connection refused") })
		began := time.Now()
		for n := range int64(5) {
			s.happens(steps(1, n+1, 2))
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the scheduler waited %v", took)
		}
		time.Sleep(5 * time.Minute)
		s.wantRows(0)
		st := s.Status()
		if st.Waiting != 10 || !strings.Contains(st.Down, "refused") || st.Oldest.IsZero() ||
			!strings.Contains(st.Warning(time.Now()), "10 rows wait") {
			t.Errorf("the status is %+v, the warning %q", st, st.Warning(time.Now()))
		}
		if n := strings.Count(s.logged(), "history database not writable"); n < 5 || n > 6 {
			t.Errorf("in five minutes the log says so %d times", n)
		}
		s.db.set(func() { s.db.down = nil })
		s.wantStored(1, 5)
		s.wantRows(10)
		s.wantLog("history database writable again")
		if w := s.Status().Warning(time.Now()); w != "" {
			t.Errorf("the warning stays: %s", w)
		}
		if s.db.migrated == 0 {
			t.Error("the database was not migrated when it came")
		}
	})
}

// TestTheEnd checks that at its end the recorder writes everything to a database that is up, and that it ends within
// seconds if the database hangs. The next process writes those rows.
func TestTheEnd(t *testing.T) {
	recording(t, func(t *testing.T, s *stage) {
		s.happens(steps(1, 1, 3))
		s.restart()
		s.wantRows(3)
		s.db.set(func() { s.db.hang = true })
		s.happens(steps(2, 1, 3))
		synctest.Wait()
		s.stop()
		s.db.set(func() { s.db.hang = false })
		*s = *begin(t, s.opt.Dir, s.db)
		s.happens(steps(3, 1, 1)) // reports nothing about term 2, whose settlement is on disk
		s.wantStored(3, 1)
		s.wantRows(7)
	})
}

// TestUncertainBatches checks that batches that a leader had not settled when it ended wait until a batch of a later
// leader reports whether they are valid.
func TestUncertainBatches(t *testing.T) {
	recording(t, func(t *testing.T, s *stage) {
		s.happens(steps(1, 1, 1))
		s.Append(steps(1, 2, 1)) // its outcome stays unknown
		s.Lead(true)
		s.Lead(false)
		s.Append(steps(2, 1, 1))
		s.restart()
		s.happens(steps(3, 1, 1)) // continues meanwhile
		s.wantStored(3, 1)
		s.wantRows(2)
		if st := s.Status(); st.Aside != 2 || st.Waiting != 0 {
			t.Errorf("the status is %+v", st)
		}
		s.restart()
		s.happens(event.Batch{Term: 4, Number: 1,
			Rows: event.Rows{Terms: []event.Term{{Number: 1, Batches: 2}, {Number: 2}}}})
		s.wantStored(4, 1)
		time.Sleep(2 * asideCheckInterval)
		s.wantRows(3)
		if rows := s.rows(); rows["1-2-0"] != 1 || rows["2-1-0"] != 0 || s.Status().Aside != 0 {
			t.Errorf("stored are %v, the status is %+v", rows, s.Status())
		}
	})
}

// TestTheReportOfALostBatchIsRepeatedByTheNext checks that a report about the previous term's commits is repeated by
// the next batch if a full outbox has refused the first one.
func TestTheReportOfALostBatchIsRepeatedByTheNext(t *testing.T) {
	recording(t, func(t *testing.T, s *stage) {
		s.Append(steps(1, 1, 1)) // its outcome stays unknown
		s.Lead(true)
		s.Lead(false)
		s.restart()
		first := steps(2, 1, 1)
		first.Terms = []event.Term{{Number: 1, Batches: 1}}
		first.Steps[0].Task = fmt.Sprint(rand.Perm(600_000)) // more than fits into an outbox of 1 MiB
		s.happens(first)
		if s.Status().Lost.Full == 0 {
			t.Fatal("the outbox took the first batch")
		}
		s.happens(steps(2, 2, 1))
		s.wantStored(2, 2)
		time.Sleep(2 * asideCheckInterval)
		if rows := s.rows(); rows["1-1-0"] != 1 || s.Status().Aside != 0 {
			t.Errorf("stored are %v, the status is %+v", rows, s.Status())
		}
	})
}

func TestCommitsThatNeverHappened(t *testing.T) {
	recording(t, func(t *testing.T, s *stage) {
		s.Append(steps(1, 1, 2))
		s.Settle(1, 1, false)
		s.happens(steps(1, 1, 1))
		s.wantStored(1, 1)
		s.wantRows(1)
	})
}

// TestFullOutbox checks that rows that do not fit are lost, that the loss is logged, and that nothing is delayed.
func TestFullOutbox(t *testing.T) {
	recording(t, func(t *testing.T, s *stage) {
		s.db.set(func() { s.db.down = errors.New("away") })
		n := int64(0)
		for s.Status().Lost.Full == 0 {
			n++
			b := steps(1, n, 1)
			var message strings.Builder
			for i := range 3000 {
				fmt.Fprint(&message, n, i)
			}
			b.Steps[0].Message = reason.FromText(message.String())
			s.happens(b)
		}
		synctest.Wait() // the settlement of the last batch that fitted is still on its way to the disk
		full := s.Status().Bytes
		for range 20 {
			n++
			b := steps(1, n, 1)
			b.Steps[0].Message = reason.FromText(strings.Repeat("too large for what is left ", 10_000))
			b.Steps[0].Task = fmt.Sprint(rand.Perm(30_000)) // incompressible
			s.happens(b)
		}
		if st := s.Status(); st.Bytes != full || st.Lost.Full != 21 {
			t.Errorf("%d bytes grew to %d, %d rows are lost", full, st.Bytes, st.Lost.Full)
		}
		s.wantLog("history rows lost")
		if w := s.Status().Warning(time.Now()); !strings.Contains(w, "21 rows of the history and") {
			t.Errorf("the warning is %q", w)
		}
		s.db.set(func() { s.db.down = nil })
		s.wantStored(1, n)
		time.Sleep(throttleInterval)
		s.happens(steps(1, n+1, 1))
		s.wantLog("accepts rows again\" rows=20")
		s.wantStored(1, n+1)
		s.wantRows(int(n) - 20)
	})
}

func TestRefusedRowsAreCounted(t *testing.T) {
	recording(t, func(t *testing.T, s *stage) {
		s.db.set(func() { s.db.poison = "1-1-1" })
		s.happens(steps(1, 1, 3))
		s.wantStored(1, 1)
		if st := s.Status(); st.Lost.Refused != 1 || st.Written != 2 {
			t.Errorf("the status is %+v", st)
		}
	})
}

// TestDamagedRowsAreCounted checks that damaged rows count among those that the outbox has lost.
func TestDamagedRowsAreCounted(t *testing.T) {
	recording(t, func(t *testing.T, s *stage) {
		s.db.set(func() { s.db.down = errors.New("connection refused") })
		for n := range int64(3) {
			s.happens(steps(1, n+1, 3))
		}
		s.stop()
		log := filepath.Join(s.opt.Dir, "0000000000000001.log")
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		data[0] ^= 1
		if err := os.WriteFile(log, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s.db.set(func() { s.db.down = nil })
		s.restart()
		synctest.Wait()
		time.Sleep(asideCheckInterval)
		synctest.Wait()
		if st := s.Status(); st.Lost.Failed != 3 || st.Waiting > 0 {
			t.Errorf("the status is %+v", st)
		}
		s.wantLog("history rows lost")
	})
}

// TestBatchThatIsStuckAside checks that the missing file of a batch that was set aside does not count as a failure of
// the database, and delays no other batch.
func TestBatchThatIsStuckAside(t *testing.T) {
	recording(t, func(t *testing.T, s *stage) {
		s.Append(steps(1, 1, 1)) // its outcome stays unknown
		s.restart()
		s.Append(steps(2, 1, 1))
		s.restart()
		s.happens(steps(3, 1, 1))
		s.wantStored(3, 1)
		if err := os.Remove(filepath.Join(s.opt.Dir, "uncertain-1-1")); err != nil {
			t.Fatal(err)
		}
		s.happens(event.Batch{Term: 3, Number: 2,
			Rows: event.Rows{Terms: []event.Term{{Number: 1, Batches: 1}, {Number: 2, Batches: 1}}}})
		s.wantStored(3, 2)
		time.Sleep(3*asideCheckInterval + time.Second)
		synctest.Wait()
		s.wantRows(2) // the batch of term 2 is not delayed
		s.wantLog("not read or removed")
		if st := s.Status(); st.Down != "" || st.Aside != 1 {
			t.Errorf("the status is %+v", st)
		}
		if n := strings.Count(s.logged(), "not read or removed"); n != 1 {
			t.Errorf("the log says so %d times in ten seconds", n)
		}
	})
}
