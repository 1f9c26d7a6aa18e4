package executor

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// temporaries are the folders for TMPDIR. A task has one for itself; a folder that is left as it was
// given is given to a later task, since making and removing one each time is slow.
type temporaries struct {
	dir string
	log *slog.Logger

	mu   sync.Mutex
	free []temporary
	made int
}

// temporary is a folder that was empty, and all right, when it had the stamp.
type temporary struct {
	path  string
	stamp stamp
}

// stamp is how a folder is seen to be as it was, without reading it. The zero value is none.
type stamp struct {
	inode   uint64
	changed int64 // by the file system's clock, which nobody can set for one file
}

const (
	temporaryMode = 0o755
	// settled is how old the last change must be for the next one to have another time for certain: clocks of
	// file systems tick every few milliseconds.
	settled = 100 * time.Millisecond
)

// take gives an empty folder. The function that it gives returns it, and removes what is left in it.
func (t *temporaries) take() (path string, release func(), err error) {
	t.mu.Lock()
	var f temporary
	if n := len(t.free); n > 0 {
		f = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		t.made++
		f.path = filepath.Join(t.dir, strconv.Itoa(t.made))
	}
	t.mu.Unlock()
	if !f.untouched() {
		// Another task may have been at it.
		f.stamp = stamp{}
		if err := remake(f.path); err != nil {
			return "", nil, err
		}
	}
	return f.path, func() { t.put(f) }, nil
}

func remake(path string) error {
	if os.Mkdir(path, temporaryMode) == nil {
		return nil // it is new
	}
	if err := pack.RemoveTree(path); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), temporaryMode); err != nil {
		return err
	}
	return os.Mkdir(path, temporaryMode)
}

func (t *temporaries) put(f temporary) {
	if !f.untouched() {
		if err := pack.RemoveTree(f.path); err != nil {
			t.log.Warn("temporary folder of a task not emptied", "error", err)
			return // not for anybody else
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free = append(t.free, f)
}

// untouched reports whether f is an empty folder that all of its later users can use, and stamps it.
func (f *temporary) untouched() bool {
	info, err := os.Lstat(f.path)
	if err != nil || !info.IsDir() || info.Mode().Perm() != temporaryMode {
		return false
	}
	now := stampOf(info)
	if now != (stamp{}) && now == f.stamp {
		return true
	}
	entries, err := os.ReadDir(f.path)
	f.stamp = now
	return err == nil && len(entries) == 0
}

// stampOf gives none for a folder that was changed just now, or by a clock that is ahead.
func stampOf(info fs.FileInfo) stamp {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || time.Since(time.Unix(stat.Ctim.Unix())) < settled {
		return stamp{}
	}
	return stamp{inode: stat.Ino, changed: stat.Ctim.Nano()}
}
