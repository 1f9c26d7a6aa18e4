package executor

import (
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// temporaries are the folders for TMPDIR. A task has one for itself; a folder that is left as it was
// given is given to a later task, since making and removing one each time is slow.
type temporaries struct {
	dir string
	log *slog.Logger

	mu   sync.Mutex
	free []string
	made int
}

const temporaryMode = 0o755

// take gives an empty folder. The function that it gives returns it, and removes what is left in it.
func (t *temporaries) take() (path string, release func(), err error) {
	t.mu.Lock()
	if n := len(t.free); n > 0 {
		path = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		t.made++
		path = filepath.Join(t.dir, strconv.Itoa(t.made))
	}
	t.mu.Unlock()
	if !untouched(path) {
		// Another task may have been at it.
		if err := pack.RemoveTree(path); err != nil {
			return "", nil, err
		}
		if err := os.MkdirAll(t.dir, temporaryMode); err != nil {
			return "", nil, err
		}
		if err := os.Mkdir(path, temporaryMode); err != nil {
			return "", nil, err
		}
	}
	return path, func() { t.put(path) }, nil
}

// untouched tells whether path is an empty folder that all of its later users can use.
func untouched(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || info.Mode().Perm() != temporaryMode {
		return false
	}
	entries, err := os.ReadDir(path)
	return err == nil && len(entries) == 0
}

func (t *temporaries) put(path string) {
	if !untouched(path) {
		if err := pack.RemoveTree(path); err != nil {
			t.log.Warn("can't remove what a task left in its temporary folder", "error", err)
			return // not for anybody else
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free = append(t.free, path)
}
