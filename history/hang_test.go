package history

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elasticjob-go/elasticjob/history/outbox"
)

// hangingFS is a folder whose fsyncs block until answers is closed.
type hangingFS struct {
	outbox.FS
	answers chan struct{}
}

func (h hangingFS) Open(name string, flag int) (outbox.File, error) {
	f, err := h.FS.Open(name, flag)
	return hangingFile{f, h.answers}, err
}

type hangingFile struct {
	outbox.File
	answers chan struct{}
}

func (f hangingFile) Sync() error {
	<-f.answers
	return f.File.Sync()
}

// fewFiles is a folder whose existing files can't be opened while exhausted is set.
type fewFiles struct {
	outbox.FS
	exhausted atomic.Bool
}

func (f *fewFiles) Open(name string, flag int) (outbox.File, error) {
	if flag == 0 && f.exhausted.Load() {
		return nil, syscall.EMFILE
	}
	return f.FS.Open(name, flag)
}

// TestWithoutDescriptorsRowsWait checks that rows wait while no file can be opened, and that the log says so each
// minute.
func TestWithoutDescriptorsRowsWait(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		few := &fewFiles{FS: outbox.Folder(dir)}
		s := beginOn(t, few, dir, &fakeDatabase{rows: map[string]int{}, terms: map[int64]int64{}})
		few.exhausted.Store(true)
		s.happens(steps(1, 1, 2))
		time.Sleep(5 * time.Minute)
		if st := s.Status(); st.Waiting != 2 || st.Lost != (Lost{}) {
			t.Errorf("the status is %+v", st)
		}
		if n := strings.Count(s.logged(), "too many open files"); n < 5 || n > 6 {
			t.Errorf("in five minutes the log says so %d times", n)
		}
		few.exhausted.Store(false)
		s.wantStored(1, 1)
		s.wantRows(2)
		s.stop()
	})
}

// TestDiskThatHangs checks that a hanging disk delays one step by two seconds and later ones not at all, and that
// waiting rows are on disk when it answers.
func TestDiskThatHangs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		fs := hangingFS{outbox.Folder(dir), make(chan struct{})}
		db := &fakeDatabase{rows: map[string]int{}, terms: map[int64]int64{}}
		r, err := Open(Options{Dir: dir, OutboxBytes: 1 << 20, Database: db, Days: 30, Rows: 1000,
			Logger: slog.New(slog.NewTextHandler(&said, nil)), fs: fs})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.Run(ctx)
		}()
		for n, want := range []time.Duration{diskTimeout, 0, 0} {
			began := time.Now()
			r.Append(steps(1, int64(n+1), 1))
			if took := time.Since(began); took != want {
				t.Errorf("batch %d held its step up for %v, want %v", n+1, took, want)
			}
			r.Settle(1, int64(n+1), true)
		}
		synctest.Wait() // the goroutine that writes the log is blocked
		if s := r.Status(); !s.Hanging || s.Lost != (Lost{}) || !strings.Contains(said.String(), "disk not answering") {
			t.Errorf("the status is %+v, the log: %s", s, said.String())
		}
		close(fs.answers)
		if n, err := r.Stored(t.Context(), 1, 2); n != 3 || err != nil {
			t.Errorf("%d are stored, %v", n, err)
		}
		synctest.Wait()
		if s := r.Status(); s.Hanging || len(db.rows) != 3 {
			t.Errorf("the status is %+v, stored are %v", s, db.rows)
		}
		stop()
		<-ended
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// TestADatabaseThatHangs checks that the database counts as down while a call is unanswered.
func TestADatabaseThatHangs(t *testing.T) {
	recording(t, func(t *testing.T, s *stage) {
		synctest.Wait()
		ctx, answer := context.WithCancel(t.Context())
		d := &drain{Recorder: s.Recorder, ctx: t.Context()}
		var called sync.WaitGroup
		called.Go(func() {
			d.try(t.Context(), true, func(context.Context) error {
				<-ctx.Done()
				return nil
			})
		})
		time.Sleep(callTimeout - time.Second)
		if down := s.Status().Down; down != "" {
			t.Errorf("at once: %s", down)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		s.wantLog("no answer for 10s")
		if down := s.Status().Down; down == "" {
			t.Error("the database does not count as down while its call hangs")
		}
		answer()
		called.Wait()
		if down := s.Status().Down; down != "" {
			t.Errorf("after its answer: %s", down)
		}
	})
}
