package outbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
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

// rest reads what there is, as "term/number outcome data".
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

// TestWhatBecameOfCommits: the frame after a batch tells, also in the next process.
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

// TestTermsThatBeginAgain: a registry that was replaced by another one, or by an old copy, counts terms and batches
// again.
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

// TestSetAside: a batch that is set aside stays until it is removed.
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

// TestBound: what does not fit is refused, and is taken again when room was freed.
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

// TestOneProcess: a second process learns whose the folder is.
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

// TestFailedFsync: what it was of is refused, and the file not used any more.
func TestFailedFsync(t *testing.T) {
	t.Parallel()
	d := newDisk(1)
	log := opening(t, "", Options{FS: d})
	put(t, log, 1, 1, "a")
	d.mu.Lock()
	d.steps, d.fault = 1, errDisk // the write, then the fsync
	d.mu.Unlock()
	if err := <-log.Append(1, 2, 1, []byte("b")); !errors.Is(err, syscall.EIO) {
		t.Errorf("appended with %v", err)
	}
	put(t, log, 1, 3, "c")
	put(t, log, 1, 4, "d")
	wantRest(t, log, "1/1 happened a", "1/3 happened c")
	if names, _ := d.Names(); len(names) != 3 { // with the position
		t.Errorf("its files are %v", names)
	}
	closing(t, log)
}

// TestFullDiskIsFreed: a disk that takes nothing, not even what became of the last batch, gets room once all is done.
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

// TestHangingFsync: batches wait in memory, up to a bound, and are confirmed when the disk answers; Close does not
// wait for it.
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

// TestDamage: what is damaged is skipped and counted, what is around it is read; a torn end is dropped.
func TestDamage(t *testing.T) {
	t.Parallel()
	for _, flip := range []int{0, 9, 20, headerSize + 2} {
		var said bytes.Buffer
		d := newDisk(1)
		logger := slog.New(slog.NewTextHandler(&said, nil))
		log := opening(t, "", Options{FS: d})
		for n, data := range []string{"one", "two", "three", "four"} {
			put(t, log, 1, int64(n+1), data)
		}
		closing(t, log)
		d.flip(segmentName(1), headerSize+len("one")+flip)
		d.files[segmentName(1)].data = append(d.files[segmentName(1)].data, "EJo1 half a frame"...)
		log = opening(t, "", Options{FS: d, Logger: logger})
		if !strings.Contains(said.String(), "bytes=17") {
			t.Errorf("of the torn end was said: %s", said.String())
		}
		wantRest(t, log, "1/1 uncertain one", "1/3 happened three", "1/4 uncertain four")
		if s := log.Status(); s.Damaged != headerSize+3 || s.Lost != 1 || !strings.Contains(said.String(), "damaged") {
			t.Errorf("%d bytes are counted as damaged, want %d, and %d rows as lost; %s",
				s.Damaged, headerSize+3, s.Lost, said.String())
		}
		closing(t, log)
	}
}

// TestLostRowsAreCounted: those that can't be read, wherever they stood, unless nobody knows how many they were.
func TestLostRowsAreCounted(t *testing.T) {
	t.Parallel()
	const each = headerSize + len("data")
	for name, test := range map[string]struct {
		harm func(d *disk)
		ends bool // the process, before the harm
		lost int64
	}{
		"none":      {func(*disk) {}, false, 0},
		"the first": {func(d *disk) { d.flip(segmentName(1), 1) }, false, 1},
		"two": {func(d *disk) {
			d.flip(segmentName(1), each+1)
			d.flip(segmentName(1), 2*each+1)
		}, false, 2},
		"the last":       {func(d *disk) { d.flip(segmentName(1), 3*each+1) }, false, 1},
		"all":            {func(d *disk) { delete(d.files, segmentName(1)) }, false, 4},
		"before a start": {func(d *disk) { d.flip(segmentName(1), 1) }, true, 1},
		"of a number that was forgotten, too": {func(d *disk) {
			d.flip(segmentName(1), 1)
			delete(d.files, positionName)
		}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDisk(1)
			log := opening(t, "", Options{FS: d})
			for n := range int64(4) {
				put(t, log, 1, n+1, "data")
			}
			if test.ends {
				closing(t, log)
				test.harm(d)
				log = opening(t, "", Options{FS: d})
			} else {
				test.harm(d)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			for err := error(nil); !errors.Is(err, context.Canceled); {
				_, err = log.Next(ended)
			}
			if s := log.Status(); s.Lost != test.lost {
				t.Errorf("%d rows are counted as lost, want %d", s.Lost, test.lost)
			}
			closing(t, log)
		})
	}
}

// fewFiles is a folder of a process that may open no further file while it has none left.
type fewFiles struct {
	FS
	none atomic.Bool
}

func (f *fewFiles) Open(name string, flag int) (File, error) {
	if f.none.Load() {
		return nil, &os.PathError{Op: "open", Path: name, Err: syscall.EMFILE}
	}
	return f.FS.Open(name, flag)
}

// TestWithoutDescriptorsNothingIsLost: that a process can't open a file says nothing about what is in it.
func TestWithoutDescriptorsNothingIsLost(t *testing.T) {
	t.Parallel()
	few := &fewFiles{FS: newDisk(1)}
	log := opening(t, "", Options{FS: few, SegmentBytes: 1})
	for n, data := range []string{"one", "two", "three"} {
		put(t, log, 1, int64(n+1), data)
	}
	few.none.Store(true)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 * mostFailures {
		if _, err := log.Next(ended); !errors.Is(err, syscall.EMFILE) {
			t.Fatalf("got %v, want that there are too many open files", err)
		}
	}
	few.none.Store(false)
	wantRest(t, log, "1/1 happened one", "1/2 happened two")
	if s := log.Status(); s.Damaged > 0 || s.Lost > 0 {
		t.Errorf("the status is %+v", s)
	}
	closing(t, log)
}

// TestReadingFails: it is tried again; what can't be read for good is skipped, so that it holds nothing up.
func TestReadingFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := opening(t, dir, Options{SegmentBytes: 1})
	for n, data := range []string{"one", "two", "three"} {
		put(t, log, 1, int64(n+1), data)
	}
	if err := os.Remove(filepath.Join(dir, segmentName(2))); err != nil {
		t.Fatal(err)
	}
	for range mostFailures - 1 {
		if _, err := log.Next(t.Context()); err == nil {
			t.Fatal("a file that is gone was read")
		}
	}
	log.Settle(1, 3, Happened)
	if e, err := log.Next(t.Context()); err != nil || e.Number != 1 {
		t.Errorf("got %+v, %v", e, err)
	}
	if e, err := log.Next(t.Context()); err != nil || e.Number != 3 {
		t.Errorf("got %+v, %v", e, err)
	}
	if s := log.Status(); s.Lost != 1 {
		t.Errorf("%d rows are counted as lost, want 1", s.Lost)
	}
	closing(t, log)
}

// FuzzSegment: whatever a segment has, the log opens, reads and takes more.
func FuzzSegment(f *testing.F) {
	var good []byte
	for n := range int64(3) {
		fr := frame{kind: batch, term: 1, number: n + 1, rows: 1, total: n + 1, data: []byte("data")}
		good = fr.append(good)
	}
	f.Add(good, []byte("x"))
	f.Add(good[:len(good)-1], good[:positionSize])
	f.Add(append([]byte("EJo1"), good...), []byte{})
	f.Fuzz(func(t *testing.T, segment, position []byte) {
		d := newDisk(1)
		d.files[segmentName(1)] = &content{data: segment}
		d.files[positionName] = &content{data: position}
		d.files[asideName(Key{1, 1})] = &content{data: segment}
		log := opening(t, "", Options{FS: d, Bytes: 1 << 30})
		if _, err := log.ReadAside(Key{1, 1}); err != nil {
			t.Error(err)
		}
		_, last := rest(t, log)
		put(t, log, 100, 1, "more")
		put(t, log, 100, 2, "and more")
		got, _ := rest(t, log)
		if len(got) == 0 || got[len(got)-1] != "100/1 happened more" {
			t.Errorf("read %q", got)
		}
		if err := log.Done(last); err != nil {
			t.Error(err)
		}
		closing(t, log)
	})
}
