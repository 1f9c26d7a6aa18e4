package output

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

func newTestOutputs(t *testing.T, limits Limits) *Files {
	t.Helper()
	o := NewFiles(t.TempDir(), limits, nil, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	var watcher sync.WaitGroup
	watcher.Go(func() { o.Watch(ctx) })
	t.Cleanup(func() {
		stop()
		watcher.Wait()
	})
	return o
}

// mustBegin begins a task's output.
func (o *Files) mustBegin(t *testing.T, number string) (end func()) {
	t.Helper()
	ended, err := o.Begin(number)
	if err != nil {
		t.Fatal(err)
	}
	return func() { ended(time.Now()) }
}

// TestLastWrite checks that the time of the last output is known for a running task, and for no other.
func TestLastWrite(t *testing.T) {
	t.Parallel()
	o := newTestOutputs(t, DefaultLimits())
	end := o.mustBegin(t, "1")
	for i, at := range []time.Time{time.Unix(3e9, 0), time.Unix(4e9, 0)} { // in the future, later than the beginning
		if err := os.Chtimes(o.file("1", streamNames[i]), at, at); err != nil {
			t.Fatal(err)
		}
		if got := o.LastWrite("1"); !got.Equal(at) {
			t.Errorf("after a write to %s the last is of %s, want %s", streamNames[i], got, at)
		}
	}
	end()
	for _, number := range []string{"1", "2"} {
		if got := o.LastWrite(number); !got.IsZero() {
			t.Errorf("task %s does not run, and has written at %s", number, got)
		}
	}
}

// TestTheLastTasksAreKept: output is kept in the order in which tasks ended, even if the end of one takes longer
// than that of the next.
func TestTheLastTasksAreKept(t *testing.T) {
	t.Parallel()
	o := newTestOutputs(t, Limits{File: 1 << 20, Tasks: 2, Bytes: 1 << 20, CheckInterval: time.Hour})
	var ends []func(time.Time)
	for _, number := range []string{"1", "2", "3", "4"} {
		end, err := o.Begin(number)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	for _, n := range []int{3, 0, 2, 1} {
		ends[n](time.Unix(int64(n), 0))
	}
	var kept []string
	for _, f := range o.ended {
		kept = append(kept, f.number)
	}
	if want := []string{"3", "4"}; !slices.Equal(kept, want) {
		t.Errorf("%q are kept, want %q", kept, want)
	}
}

func (o *Files) write(t *testing.T, number, stream, text string) {
	t.Helper()
	path := o.file(number, stream)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// The beginning of an output is dropped while it grows. Its end keeps its offsets, and nothing that is written
// meanwhile is lost.
func TestTheBeginningOfALargeOutputIsDropped(t *testing.T) {
	t.Parallel()
	const limit, line, width = 1 << 20, "0123456789abcdefghijkl%015d\n", 38
	o := newTestOutputs(t, Limits{File: limit, Tasks: 10, Bytes: 10 * limit, CheckInterval: time.Millisecond})
	end := o.mustBegin(t, "1")
	files, ended, err := o.Streams("1", nil)
	if err != nil {
		t.Fatal(err)
	}
	const lines = 1_000_000
	for i := 0; i < lines; i += 1000 {
		var block strings.Builder
		for j := range 1000 {
			fmt.Fprintf(&block, line, i+j)
		}
		if err := writeString(files[0], block.String()); err != nil {
			t.Fatal(err)
		}
	}
	CloseAll(files)
	ended()
	end()
	path := o.file("1", "stdout")
	text, err := os.ReadFile(path)
	if err != nil || len(text) != lines*width {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	dropped := wire.Dropped(text)
	if dropped < lines*width-2*limit || dropped > lines*width-limit || dropped%width != 0 {
		t.Errorf("%d bytes are dropped, want whole lines: %.100q", dropped, text)
	}
	for i := int(dropped / width); i < lines; i++ {
		if got := string(text[width*i : width*i+width]); got != fmt.Sprintf(line, i) {
			t.Fatalf("line %d: %q", i, got)
		}
	}
	if info, err := os.Stat(path); err != nil || diskSize(info) > 2*limit+allocatedAhead {
		t.Errorf("it uses %d bytes, %v", diskSize(info), err)
	}
}

// A small file uses a whole block on the disk, but counts with its bytes.
func TestSmallOutputCountsBytes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stdout")
	if err := os.WriteFile(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || usedBytes(info) != 3 {
		t.Errorf("%d bytes, %v", usedBytes(info), err)
	}
}

// TestOutputIsBoundedWhateverATaskDoesToItsFile: a task can make the file larger than any disk, allocate blocks
// that its size does not show, empty it, or remove its name. The disk space stays bounded, and the end is kept.
func TestOutputIsBoundedWhateverATaskDoesToItsFile(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	for name, spoil := range map[string]func(f *os.File, path string) error{
		"a hole": func(f *os.File, _ string) error { return f.Truncate(1 << 40) },
		"blocks behind it": func(f *os.File, _ string) error {
			return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, 8*limit)
		},
		"holes among parts": func(f *os.File, _ string) error {
			for at := int64(1); at < 40; at++ {
				if err := errors.Join(f.Truncate(at<<30), writeString(f, strings.Repeat("x", limit/4))); err != nil {
					return err
				}
			}
			return nil
		},
		"emptied": func(f *os.File, _ string) error {
			return errors.Join(writeString(f, strings.Repeat("x", 5*limit)), f.Truncate(0))
		},
		"its name removed": func(f *os.File, path string) error {
			return errors.Join(os.Remove(path), writeString(f, strings.Repeat("x", 4*limit)))
		},
		"another file instead": func(f *os.File, path string) error {
			return errors.Join(os.Rename(path, path+".2"), os.WriteFile(path, nil, 0o600),
				writeString(f, strings.Repeat("x", 4*limit)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newTestOutputs(t, Limits{File: limit, Tasks: 10, Bytes: 100 * limit, CheckInterval: time.Millisecond})
			end := o.mustBegin(t, "1")
			files, ended, err := o.Streams("1", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer CloseAll(files)
			if err := errors.Join(spoil(files[0], o.file("1", "stdout")),
				writeString(files[0], "precious")); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(20 * time.Second); ; <-time.After(time.Millisecond) {
				info, err := files[0].Stat()
				if err != nil || time.Now().After(deadline) {
					t.Fatalf("not bounded: %v bytes, %v", diskSize(info), err)
				}
				if diskSize(info) <= 2*limit+allocatedAhead {
					break
				}
			}
			if got := o.Cause("1", "failed", Mark{}, asUTF8); !strings.HasSuffix(got, "precious") {
				t.Errorf("the end is %.100q", got)
			}
			ended()
			end()
		})
	}
}

func writeString(f *os.File, text string) error {
	_, err := f.WriteString(text)
	return err
}

// TestATaskCannotLeaseItsOutput: a task can't take a lease (fcntl) on its output, which would keep the executor
// and the agent from opening the file.
func TestATaskCannotLeaseItsOutput(t *testing.T) {
	t.Parallel()
	o := newTestOutputs(t, Limits{File: 1000, Tasks: 10, Bytes: 10_000, CheckInterval: time.Hour})
	defer o.mustBegin(t, "1")()
	for kind, flags := range map[int]int{unix.F_WRLCK: os.O_WRONLY, unix.F_RDLCK: os.O_RDONLY} {
		f, err := os.OpenFile(o.file("1", "stdout"), flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, kind); !errors.Is(err, unix.EAGAIN) {
			t.Errorf("a lease of kind %d: %v", kind, err)
		}
		_ = f.Close()
	}
}

func TestOutputOfEndedTasksIsBounded(t *testing.T) {
	t.Parallel()
	o := newTestOutputs(t, Limits{File: 100_000, Tasks: 3, Bytes: 250_000, CheckInterval: time.Hour})
	kept := func() string {
		entries, err := os.ReadDir(filepath.Join(o.sandbox, "tasks"))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, " ")
	}
	for i := range 5 {
		number := strconv.Itoa(i)
		end := o.mustBegin(t, number)
		o.write(t, number, "stderr", "x")
		o.write(t, number, "stdout", "")
		end()
	}
	// Folder 0 was reused, and folder 1 may be; until then it still exists.
	if got := kept(); got != "1 2 3 4" {
		t.Errorf("kept %s", got)
	}
	if dir, err := o.folder("5"); err != nil || size(t, filepath.Join(dir, "stderr")) != 0 || kept() != "2 3 4 5" {
		t.Errorf("kept %s, %v", kept(), err)
	}
	if _, err := o.folder("6"); err != nil || kept() != "2 3 4 5 6" {
		t.Errorf("kept %s, %v", kept(), err)
	}
	for _, number := range []string{"5", "6", "7"} {
		end := o.mustBegin(t, number)
		o.write(t, number, "stdout", strings.Repeat("a", 5000)+strings.Repeat("b", 100_000))
		end()
		if text, _ := os.ReadFile(o.file(number, "stdout")); len(text) != 105_000 {
			t.Errorf("of ended task %s: %d bytes", number, len(text))
		}
	}
	if got := kept(); got != "4 6 7" {
		t.Errorf("kept %s", got)
	}
}

// TestOutputFolderIsNew: files that a task put in the place of a later task's folder are removed, and a link or
// pipe in the place of a folder is neither followed nor waited for.
func TestOutputFolderIsNew(t *testing.T) {
	t.Parallel()
	o := newTestOutputs(t, Limits{File: 1000, Tasks: 1, Bytes: 10_000, CheckInterval: time.Hour})
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte(strings.Repeat("x", 5000)), 0o644); err != nil {
		t.Fatal(err)
	}
	put := []func(path string) error{
		func(path string) error { return os.Symlink(filepath.Dir(precious), path) },
		func(path string) error { return syscall.Mkfifo(path, 0o644) },
		func(path string) error { return os.WriteFile(path, nil, 0o644) },
		func(path string) error {
			return errors.Join(os.MkdirAll(filepath.Join(path, "a"), 0o755),
				syscall.Mkfifo(filepath.Join(path, "stdout"), 0o644))
		},
	}
	if err := os.Mkdir(filepath.Join(o.sandbox, Folder), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, put := range put {
		before, during := o.file(strconv.Itoa(2*i), ""), o.file(strconv.Itoa(2*i+1), "")
		if err := put(before); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{before, during} {
			dir, err := o.folder(filepath.Base(path))
			if err != nil || dir != path {
				t.Fatal(dir, err)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
				t.Errorf("%d: %v, %v", i, entries, err)
			}
			end := o.mustBegin(t, filepath.Base(path))
			if path == during {
				if err := errors.Join(os.RemoveAll(path), put(path)); err != nil {
					t.Fatal(err)
				}
			}
			end()
		}
	}
	if text, err := os.ReadFile(precious); err != nil || len(text) != 5000 {
		t.Errorf("behind the link: %d bytes, %v", len(text), err)
	}
	if found := o.contentsOf(filepath.Dir(precious)); found.bytes == 0 {
		t.Error("nothing is counted")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Dir(precious), link); err != nil {
		t.Fatal(err)
	}
	if found := o.contentsOf(link); found.bytes != 0 || found.plain {
		t.Errorf("behind a link: %+v", found)
	}
}
