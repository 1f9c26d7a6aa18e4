package isolation

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestTheUnsharedIDBelongsToNoUserOrProcess: an id that a file in /etc assigns, or that a process has, is not chosen.
func TestTheUnsharedIDBelongsToNoUserOrProcess(t *testing.T) {
	t.Parallel()
	id := func(n uint32) string { return strconv.Itoa(int(firstUnshared + n)) }
	const last = lastUnshared - firstUnshared
	for name, c := range map[string]struct {
		file, text string
		running    []uint32 // offsets to the first id
		start      uint32
		want       uint32 // offset to the first id
	}{
		"no files":                {},
		"the start":               {start: 7, want: 7},
		"a start beyond the end":  {start: last + 3, want: 2},
		"a user":                  {file: "passwd", text: "root:x:0:0::/:\nann:x:" + id(0) + ":100::/:\n", want: 1},
		"another user's group":    {file: "passwd", text: "ann:x:1000:" + id(0) + "::/:/bin/sh\n"},
		"a group":                 {file: "group", text: "staff:x:" + id(0) + ":\n", want: 1},
		"a user's containers":     {file: "subuid", text: "ann:" + id(0) + ":10\n", want: 10},
		"groups of containers":    {file: "subgid", text: "ann:100000:65536\nbob:" + id(0) + ":1\n", want: 1},
		"processes":               {running: []uint32{0, 1}, want: 2},
		"the last one, then none": {start: last, running: []uint32{last}},
	} {
		etc := t.TempDir()
		if c.file != "" {
			if err := os.WriteFile(filepath.Join(etc, c.file), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		running := map[uint32]bool{}
		for _, n := range c.running {
			running[firstUnshared+n] = true
		}
		as, err := unshared(etc, c.start, running)
		if want := accountOfIDs(firstUnshared+c.want, firstUnshared+c.want); err != nil ||
			!reflect.DeepEqual(as, want) {
			t.Errorf("%s: %+v, %v, want %+v", name, as, err, want)
		}
	}
	etc := t.TempDir()
	if err := os.WriteFile(filepath.Join(etc, "subuid"), []byte("ann:60000:5000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if as, err := unshared(etc, 0, nil); err == nil {
		t.Errorf("with all ids in use it finds %+v", as)
	}
}

func TestRunningAsHasThisProcess(t *testing.T) {
	t.Parallel()
	if running := runningAs("/proc"); !running[uint32(os.Getuid())] {
		t.Errorf("users of processes are %v, and not %d", running, os.Getuid())
	}
}

// TestLookupTakesIDs: an account is found by uid:gid, known or not; a single number must be known, because it may
// be a typing error.
func TestLookupTakesIDs(t *testing.T) {
	t.Parallel()
	const unknown = 4294967290
	for text, want := range map[string]*Account{
		"4294967290:12": {Name: "4294967290", UID: unknown, GID: 12, Groups: []uint32{12}},
		"0:0":           {Name: "0", Groups: []uint32{0}},
		"4294967295:1":  nil,
		"1:4294967295":  nil,
		"1:":            nil,
		"root:root":     nil,
		"-1:1":          nil,
	} {
		as, err := Lookup(text)
		if want == nil {
			if err == nil {
				t.Errorf("%s is %+v", text, as)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(as, want) {
			t.Errorf("%s is %+v, %v", text, as, err)
		} else if as.UID == unknown && as.IDs() != text {
			t.Errorf("%s is found by %s", text, as.IDs())
		}
	}
}

// TestAsRootTry: what root can't do for an account is found out before jobs run.
func TestAsRootTry(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("this needs root: make ci ONLY=root runs it")
	}
	as, err := Unshared(uint32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	if !as.IsUnshared() {
		t.Errorf("%+v was found, and has a name", as)
	}
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o711), os.Chmod(filepath.Dir(dir), 0o711)); err != nil {
		t.Fatal(err)
	}
	if err := as.Try(dir); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := as.Try(dir); !errors.Is(err, syscall.EACCES) || !strings.Contains(err.Error(), "user "+as.Name) {
		t.Errorf("in a folder that it can't enter: %v", err)
	}
	if err := as.Try("/proc"); err == nil {
		t.Error("in a folder that takes no files: no error")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
