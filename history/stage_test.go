package history

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/outbox"
)

// fakeDatabase keeps rows in memory, and fails as the test demands.
type fakeDatabase struct {
	mu       sync.Mutex
	down     error
	hang     bool // calls wait for the end of their context
	rows     map[string]int
	terms    map[int64]int64
	writes   []int // the number of rows of each write
	migrated int
	recounts int
	deletes  []int       // the numbers of rows that the next calls of DeleteOld delete
	deleted  []time.Time // the time before which each call of DeleteOld deleted

	deleteTakes time.Duration
	poison      string // rows with this id are refused
}

func (f *fakeDatabase) call(ctx context.Context) error {
	f.mu.Lock()
	hang := f.hang
	f.mu.Unlock()
	if hang {
		<-ctx.Done()
		return ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.down
}

func (f *fakeDatabase) Migrate(ctx context.Context) (from, to int64, err error) {
	if err := f.call(ctx); err != nil {
		return 0, 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.migrated++
	return 11, 11, nil
}

func (f *fakeDatabase) Write(ctx context.Context, batches []event.Batch) (lost int, err error) {
	if err := f.call(ctx); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	rows := 0
	for _, b := range batches {
		rows += b.Len()
		for _, s := range b.Steps {
			if s.ID == f.poison {
				lost++
				continue
			}
			f.rows[s.ID]++
		}
		for _, t := range b.Terms {
			f.terms[t.Number] = t.Batches
		}
	}
	f.writes = append(f.writes, rows)
	return lost, nil
}

func (f *fakeDatabase) Batches(ctx context.Context, term int64) (n int64, known bool, err error) {
	if err := f.call(ctx); err != nil {
		return 0, false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n, known = f.terms[term]
	return n, known, nil
}

func (f *fakeDatabase) Recount(context.Context, int) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recounts++
	return 0, nil
}

func (f *fakeDatabase) DeleteOld(_ context.Context, before time.Time, _ int64, limit int) (int, error) {
	time.Sleep(f.deleteTakes)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deleted = append(f.deleted, before)
	if len(f.deletes) == 0 {
		return 0, nil
	}
	n := f.deletes[0]
	f.deletes = f.deletes[1:]
	return min(n, limit), nil
}

func (f *fakeDatabase) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// stage is a running recorder with a fake database, in a synctest bubble.
type stage struct {
	*Recorder
	t    *testing.T
	db   *fakeDatabase
	log  *bytes.Buffer
	stop func()
	// ahead is how far the wall clock is ahead of the true time, in nanoseconds.
	ahead atomic.Int64
}

// recording runs a test with a recorder.
func recording(t *testing.T, play func(t *testing.T, s *stage)) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, dir, &fakeDatabase{rows: map[string]int{}, terms: map[int64]int64{}})
		defer func() { s.stop() }()
		play(t, s)
	})
}

func begin(t *testing.T, dir string, db *fakeDatabase) *stage { return beginOn(t, nil, dir, db) }

func beginOn(t *testing.T, fs outbox.FS, dir string, db *fakeDatabase) *stage {
	s := &stage{t: t, db: db, log: &bytes.Buffer{}}
	var err error
	s.Recorder, err = Open(Options{
		Dir: dir, OutboxBytes: 1 << 20, Database: db, Days: 30, Rows: 1000,
		Logger: slog.New(slog.NewTextHandler(s.log, nil)), fs: fs,
		wall: func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx)
	}()
	s.stop = sync.OnceFunc(func() {
		cancel()
		began := time.Now()
		<-ended
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v to end", took)
		}
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// restart ends the process and starts the next one on the same outbox.
func (s *stage) restart() {
	s.stop()
	*s = *begin(s.t, s.opt.Dir, s.db)
}

// steps returns a batch of rows rows.
func steps(term, number int64, rows int) event.Batch {
	b := event.Batch{Term: term, Number: number}
	for i := range rows {
		b.Steps = append(b.Steps, event.Step{ID: fmt.Sprintf("%d-%d-%d", term, number, i), Kind: event.Waited})
	}
	return b
}

// happens appends a batch and settles it as committed.
func (s *stage) happens(b event.Batch) {
	s.Append(b)
	s.Settle(b.Term, b.Number, true)
}

// wantStored waits until n batches of a term are stored, and fails if there are more.
func (s *stage) wantStored(term, n int64) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Hour)
	defer cancel()
	got, err := s.Stored(ctx, term, n-1)
	if err != nil || got != n {
		s.t.Errorf("%d batches are stored, want %d; %v", got, n, err)
	}
}

func (s *stage) wantRows(want int) {
	s.t.Helper()
	if rows := s.rows(); len(rows) != want {
		s.t.Errorf("%d rows are stored, want %d", len(rows), want)
	}
}

// rows returns how often each row was written, once the recorder is idle.
func (s *stage) rows() map[string]int {
	synctest.Wait()
	return s.db.rows
}

// logged returns the log once the recorder is idle, because it writes to the log while it works.
func (s *stage) logged() string {
	synctest.Wait()
	return s.log.String()
}

func (s *stage) wantLog(want string) {
	s.t.Helper()
	if got := s.logged(); !strings.Contains(got, want) {
		s.t.Errorf("the log does not say %q:\n%s", want, got)
	}
}
