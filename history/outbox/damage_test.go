package outbox

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestDamage checks that damage is skipped and counted, that everything around it is read, and that a torn end is
// dropped.
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
			t.Errorf("the log does not report the 17 bytes of the torn end: %s", said.String())
		}
		wantRest(t, log, "1/1 uncertain one", "1/3 happened three", "1/4 uncertain four")
		if s := log.Status(); s.Damaged != headerSize+3 || s.Lost != 1 || !strings.Contains(said.String(), "damaged") {
			t.Errorf("%d bytes are counted as damaged, want %d, and %d rows as lost; %s",
				s.Damaged, headerSize+3, s.Lost, said.String())
		}
		closing(t, log)
	}
}

// TestLostRowsAreCounted checks the number of unreadable rows, wherever they are, unless it can't be known.
func TestLostRowsAreCounted(t *testing.T) {
	t.Parallel()
	const frameSize = headerSize + len("data")
	for name, test := range map[string]struct {
		harm func(d *disk)
		ends bool // the process ends before the damage
		lost int64
	}{
		"none":      {func(*disk) {}, false, 0},
		"the first": {func(d *disk) { d.flip(segmentName(1), 1) }, false, 1},
		"two": {func(d *disk) {
			d.flip(segmentName(1), frameSize+1)
			d.flip(segmentName(1), 2*frameSize+1)
		}, false, 2},
		"the last":       {func(d *disk) { d.flip(segmentName(1), 3*frameSize+1) }, false, 1},
		"all":            {func(d *disk) { delete(d.files, segmentName(1)) }, false, 4},
		"before a start": {func(d *disk) { d.flip(segmentName(1), 1) }, true, 1},
		"together with the position": {func(d *disk) {
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

// fewFiles is a folder in which no further file can be opened while exhausted is set.
type fewFiles struct {
	FS
	exhausted atomic.Bool
}

func (f *fewFiles) Open(name string, flag int) (File, error) {
	if f.exhausted.Load() {
		return nil, &os.PathError{Op: "open", Path: name, Err: syscall.EMFILE}
	}
	return f.FS.Open(name, flag)
}

// TestWithoutDescriptorsNothingIsLost checks that a failure to open a file does not count as damage.
func TestWithoutDescriptorsNothingIsLost(t *testing.T) {
	t.Parallel()
	few := &fewFiles{FS: newDisk(1)}
	log := opening(t, "", Options{FS: few, SegmentBytes: 1})
	for n, data := range []string{"one", "two", "three"} {
		put(t, log, 1, int64(n+1), data)
	}
	few.exhausted.Store(true)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 * maxFailures {
		if _, err := log.Next(ended); !errors.Is(err, syscall.EMFILE) {
			t.Fatalf("got %v, want that there are too many open files", err)
		}
	}
	few.exhausted.Store(false)
	wantRest(t, log, "1/1 happened one", "1/2 happened two")
	if s := log.Status(); s.Damaged > 0 || s.Lost > 0 {
		t.Errorf("the status is %+v", s)
	}
	closing(t, log)
}

// TestReadingFails checks that a failed read is retried, and that a permanently unreadable part is skipped.
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
	for range maxFailures - 1 {
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

// FuzzSegment checks that the log opens, reads and accepts batches, whatever a segment contains.
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
