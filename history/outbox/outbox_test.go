package outbox

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func opening(t testing.TB, dir string, opt Options) *Log {
	t.Helper()
	if opt.Bytes == 0 {
		opt.Bytes = 1 << 20
	}
	log, err := Open(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func closing(t testing.TB, log *Log) {
	t.Helper()
	if err := log.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, log *Log, term, number int64, data string) {
	t.Helper()
	if err := <-log.Append(term, number, 1, []byte(data)); err != nil {
		t.Fatal(err)
	}
}

// rest reads all available batches as "term/number outcome data".
func rest(t testing.TB, log *Log) (read []string, last Entry) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		e, err := log.Next(ctx)
		if errors.Is(err, context.Canceled) {
			return read, last
		}
		if err != nil {
			t.Fatal(err)
		}
		read, last = append(read, fmt.Sprintf("%d/%d %s %s", e.Term, e.Number,
			[]string{"happened", "never", "uncertain"}[e.Outcome], e.Data)), e
	}
}

func wantRest(t testing.TB, log *Log, want ...string) Entry {
	t.Helper()
	got, last := rest(t, log)
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		t.Errorf("read %q, want %q", got, want)
	}
	return last
}

// TestWhatBecameOfCommits checks that the frame after a batch decides its outcome, also in the next process.
func TestWhatBecameOfCommits(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "outbox")
	log := opening(t, dir, Options{})
	put(t, log, 7, 1, "a")
	put(t, log, 7, 2, "b")
	log.Settle(7, 2, Never)
	put(t, log, 7, 2, "B")
	log.Settle(7, 2, Happened)
	put(t, log, 7, 3, "c")
	put(t, log, 9, 1, "d")
	log.Settle(9, 1, Uncertain)
	put(t, log, 10, 1, "e")
	wantRest(t, log, "7/1 happened a", "7/2 happened B", "7/3 uncertain c", "9/1 uncertain d")
	closing(t, log)
	log = opening(t, dir, Options{})
	last := wantRest(t, log, "7/1 happened a", "7/2 happened B", "7/3 uncertain c", "9/1 uncertain d",
		"10/1 uncertain e")
	if s := log.Status(); s.Rows != 6 {
		t.Errorf("%d rows wait, want 6", s.Rows)
	}
	if err := log.Done(last); err != nil {
		t.Fatal(err)
	}
	if s := log.Status(); s.Rows != 0 {
		t.Errorf("%d rows wait after all are done", s.Rows)
	}
	closing(t, log)
	log = opening(t, dir, Options{})
	wantRest(t, log)
	put(t, log, 11, 1, "f")
	put(t, log, 11, 2, "g")
	wantRest(t, log, "11/1 happened f")
	closing(t, log)
}

// TestTermsThatBeginAgain checks a registry that was replaced by another one or by an old copy, in which terms and
// batches are numbered from the beginning.
func TestTermsThatBeginAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "outbox")
	log := opening(t, dir, Options{})
	put(t, log, 1, 1, "a")
	put(t, log, 1, 2, "b")
	closing(t, log)
	log = opening(t, dir, Options{})
	put(t, log, 1, 1, "A")
	put(t, log, 1, 2, "B")
	wantRest(t, log, "1/1 happened a", "1/2 uncertain b", "1/1 happened A")
	closing(t, log)
}

// TestSetAside checks that a batch that is set aside stays until it is removed.
func TestSetAside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := opening(t, dir, Options{})
	put(t, log, 7, 1, strings.Repeat("a", 2000))
	closing(t, log)
	log = opening(t, dir, Options{})
	_, e := rest(t, log)
	if err := log.SetAside(e); err != nil {
		t.Fatal(err)
	}
	if err := log.Done(e); err != nil {
		t.Fatal(err)
	}
	closing(t, log)
	log = opening(t, dir, Options{})
	wantRest(t, log)
	if keys := log.Aside(); len(keys) != 1 || keys[0] != (Key{7, 1}) {
		t.Fatalf("set aside are %v", keys)
	}
	if e, err := log.ReadAside(Key{7, 1}); err != nil || len(e.Data) != 2000 || e.Rows != 1 {
		t.Errorf("it is %d bytes, error %v", len(e.Data), err)
	}
	if err := log.RemoveAside(Key{7, 1}); err != nil || len(log.Aside()) != 0 {
		t.Errorf("after its removal: %v, error %v", log.Aside(), err)
	}
	closing(t, log)
}

// TestBound checks that a batch that does not fit is refused, and accepted after space was freed.
func TestBound(t *testing.T) {
	t.Parallel()
	log := opening(t, t.TempDir(), Options{Bytes: 10_000, SegmentBytes: 1000})
	data := func(n int64) string { return fmt.Sprint(n, strings.Repeat("x", 300)) }
	n := int64(1)
	for ; ; n++ {
		if err := <-log.Append(1, n, 1, []byte(data(n))); err != nil {
			if !errors.Is(err, ErrFull) {
				t.Fatal(err)
			}
			break
		}
	}
	if n < 20 || log.Status().Bytes > 10_000 {
		t.Errorf("%d batches fit in %+v", n-1, log.Status())
	}
	_, last := rest(t, log)
	if err := log.Done(last); err != nil {
		t.Fatal(err)
	}
	put(t, log, 1, n, data(n))
	put(t, log, 1, n+1, data(n+1))
	wantRest(t, log, fmt.Sprintf("1/%d happened %s", n-1, data(n-1)), fmt.Sprintf("1/%d happened %s", n, data(n)))
	closing(t, log)
}

// TestOneProcess checks that a second process gets an error that says who uses the folder.
func TestOneProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := opening(t, dir, Options{})
	if _, err := Open(dir, Options{Bytes: 1}); err == nil || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("a second process got %v", err)
	}
	closing(t, log)
	closing(t, opening(t, dir, Options{}))
}

// TestFailedFsync checks that the batches of a failed fsync are refused, and that the file is not used any more.
func TestFailedFsync(t *testing.T) {
	t.Parallel()
	d := newDisk(1)
	log := opening(t, "", Options{FS: d})
	put(t, log, 1, 1, "a")
	d.mu.Lock()
	d.steps, d.fault = 1, errDisk // first the write, then the fsync
	d.mu.Unlock()
	if err := <-log.Append(1, 2, 1, []byte("b")); !errors.Is(err, syscall.EIO) {
		t.Errorf("appended with %v", err)
	}
	put(t, log, 1, 3, "c")
	put(t, log, 1, 4, "d")
	wantRest(t, log, "1/1 happened a", "1/3 happened c")
	if names, _ := d.Names(); len(names) != 3 { // including the position
		t.Errorf("the files of the log are %v, want three", names)
	}
	closing(t, log)
}

// TestFullDiskIsFreed checks that a disk that accepts no write, not even a settlement, gets space once all batches are
// done.
func TestFullDiskIsFreed(t *testing.T) {
	t.Parallel()
	d := newDisk(1)
	log := opening(t, "", Options{FS: d})
	put(t, log, 1, 1, "a")
	put(t, log, 1, 2, "b")
	d.mu.Lock()
	d.full = true
	d.mu.Unlock()
	log.Settle(1, 2, Happened)
	if err := <-log.Append(1, 3, 1, []byte("c")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("appended with %v", err)
	}
	last := wantRest(t, log, "1/1 happened a", "1/2 happened b")
	if err := log.Done(last); err != nil {
		t.Fatal(err)
	}
	wantRest(t, log)
	if s := log.Status(); s.Bytes != 0 || s.Rows != 0 {
		t.Errorf("the status is %+v", s)
	}
	d.mu.Lock()
	d.full = false
	d.mu.Unlock()
	put(t, log, 1, 4, "d")
	log.Settle(1, 4, Happened)
	if e, err := log.Next(t.Context()); err != nil || e.Number != 4 || e.Outcome != Happened {
		t.Errorf("got %+v, %v", e, err)
	}
	closing(t, log)
}

// TestHangingFsync checks that batches wait in memory up to a bound and are confirmed when the disk answers, and that
// Close does not wait for the disk beyond the end of its context.
func TestHangingFsync(t *testing.T) {
	t.Parallel()
	d := newDisk(1)
	d.hang = make(chan struct{})
	log := opening(t, "", Options{FS: d, Bytes: 1 << 30})
	first, second := log.Append(1, 1, 1, []byte("a")), log.Append(1, 2, 1, []byte("b"))
	log.Settle(1, 2, Happened)
	select {
	case err := <-first:
		t.Fatalf("confirmed though the disk hangs: %v", err)
	default:
	}
	random := make([]byte, 8<<20)
	for i := range random {
		random[i] = byte(d.rng.Uint32())
	}
	for n := int64(3); ; n++ {
		answer := log.Append(2, n, 1, random)
		select {
		case err := <-answer:
			if !errors.Is(err, ErrFull) {
				t.Fatal(err)
			}
		default:
			if n > 20 {
				t.Fatal("there is no bound")
			}
			continue
		}
		break
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := log.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("closed with %v", err)
	}
	close(d.hang)
	if err := errors.Join(<-first, <-second); err != nil {
		t.Error(err)
	}
	closing(t, log)
}
