package executor

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// temporaries are the folders for TMPDIR. A task has one for itself; a folder that is left empty
// is given to a later task, since making and removing one each time is slow.
type temporaries struct {
	dir string

	mu   sync.Mutex
	free []string
	made int
}

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
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return "", nil, err
		}
	}
	return path, func() { t.put(path) }, nil
}

func (t *temporaries) put(path string) {
	if entries, err := os.ReadDir(path); err != nil || len(entries) > 0 {
		_ = os.RemoveAll(path)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free = append(t.free, path)
}
