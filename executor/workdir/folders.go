// Package workdir makes the folders that tasks of an executor work in: each shows its package as the task's own, and
// is used again once it was restored (view.go, folder.go, folders.go).
package workdir

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// Every attempt works in a folder of its own, in which it finds its package: what it writes there neither reaches the
// package, which others use, nor another attempt. The folder is made of real folders and of links to the package's
// files, so it costs no copy. Links, and not hard links: a write through those would reach the package's own file, and
// each of them changes the time that shows such a write.
//
// Most tasks leave the folder as it was. It is given to a later one then, since making and removing many files is
// slow. A folder for TMPDIR is a working folder without a package.

// folderMode is that of the folders that tasks are given.
const folderMode = 0o755

// Folders are the working folders, or those for TMPDIR, of an executor's tasks. All is done below the sandbox, which
// is held open: tasks can put links in the place of their folders at any moment, and none leads out of it.
type Folders struct {
	opt Options

	mu     sync.Mutex
	pools  []*pooled // the one made last comes last
	made   int
	failed []string // oldest first
}

// Options say where the folders are and whose.
type Options struct {
	// Sandbox is held open by the caller for as long as there are folders.
	Sandbox *os.Root
	// Dir is the name in the sandbox of the folder with those in use and those that wait to be.
	Dir string
	// Kept is the name of the folder with those of failed tasks, keep how many of these are kept.
	Kept string
	Keep int
	// As is with whose rights all is done in them.
	As  *isolation.Account
	Log *slog.Logger
}

// New returns folders of which none is made yet.
func New(o Options) *Folders { return &Folders{opt: o} }

// pooled is what belongs to one package in one state.
type pooled struct {
	root, state string
	view        *view
	free        []folder
}

// workPools is how many packages, or roots in them, have folders that wait: those of an app before and after a change
// of its package, with jobs that start in another place of it.
const workPools = 4

// Take gives a folder with what is in root. The state is that of the package; an empty one is a package of this task
// alone. The returned function must be called when no process is left in the folder, with the name under which it is
// kept, or "".
func (f *Folders) Take(root, state string) (path string, release func(keepAs string), err error) {
	pool, err := f.pool(root, state)
	if err != nil {
		return "", nil, err
	}
	f.mu.Lock()
	var w folder
	if n := len(pool.free); n > 0 {
		w, pool.free = pool.free[n-1], pool.free[:n-1]
	} else {
		f.made++
		w.path = filepath.Join(f.opt.Dir, strconv.Itoa(f.made))
	}
	f.mu.Unlock()
	if !w.untouched(f.opt.Sandbox, pool.view) {
		if err := f.opt.As.Do(func() error { return w.restore(f.opt.Sandbox, pool.view) }); err != nil {
			f.remove(w.path)
			return "", nil, err
		}
	}
	return filepath.Join(f.opt.Sandbox.Name(), w.path), func(keepAs string) { f.put(pool, w, keepAs) }, nil
}

func (f *Folders) pool(root, state string) (*pooled, error) {
	f.mu.Lock()
	i := slices.IndexFunc(f.pools, func(p *pooled) bool { return p.root == root && p.state == state })
	if i >= 0 {
		defer f.mu.Unlock()
		return f.pools[i], nil
	}
	f.mu.Unlock()
	v, err := viewOf(root)
	if err != nil {
		return nil, err
	}
	pool := &pooled{root: root, state: state, view: v}
	if root != "" && state == "" {
		return pool, nil // nobody will want it again
	}
	f.mu.Lock()
	f.pools = append(f.pools, pool)
	var old []folder
	if n := len(f.pools) - workPools; n > 0 {
		old = f.pools[0].free
		f.pools[0].free = nil
		f.pools = slices.Delete(f.pools, 0, 1)
	}
	f.mu.Unlock()
	for _, w := range old {
		f.remove(w.path)
	}
	return pool, nil
}

func (f *Folders) put(pool *pooled, w folder, keepAs string) {
	if keepAs != "" && f.opt.Keep > 0 {
		f.keepFailed(w.path, keepAs)
		return
	}
	f.mu.Lock()
	again := slices.Contains(f.pools, pool)
	f.mu.Unlock()
	if !again {
		f.remove(w.path)
		return
	}
	if !w.untouched(f.opt.Sandbox, pool.view) {
		if err := f.opt.As.Do(func() error { return w.restore(f.opt.Sandbox, pool.view) }); err != nil {
			f.opt.Log.Warn("working folder not prepared for another task", "folder", w.path, "error", err)
			f.remove(w.path)
			return
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	pool.free = append(pool.free, w)
}

// keepFailed keeps the folder of a failed task, and removes the oldest beyond the bound.
func (f *Folders) keepFailed(path, name string) {
	to := filepath.Join(f.opt.Kept, name)
	err := f.opt.As.Do(func() error {
		if err := f.opt.Sandbox.MkdirAll(f.opt.Kept, folderMode); err != nil {
			return err
		}
		_ = removeTree(f.opt.Sandbox, to) // which is a task's doing
		return f.opt.Sandbox.Rename(path, to)
	})
	if err != nil {
		f.opt.Log.Warn("working folder of a failed task not kept", "folder", path, "error", err)
		f.remove(path)
		return
	}
	f.opt.Log.Info("working folder of a failed task kept", "folder", to)
	f.mu.Lock()
	f.failed = append(f.failed, to)
	n := max(len(f.failed)-f.opt.Keep, 0)
	old := slices.Clone(f.failed[:n])
	f.failed = slices.Delete(f.failed, 0, n)
	f.mu.Unlock()
	for _, path := range old {
		f.remove(path)
	}
}

func (f *Folders) remove(path string) {
	if err := f.opt.As.Do(func() error { return removeTree(f.opt.Sandbox, path) }); err != nil {
		f.opt.Log.Warn("working folder of a task not removed", "folder", path, "error", err)
	}
}

// RemoveAll removes the folders in use and those that wait to be, and the folder of all of them, which is the
// executor's to remove.
func (f *Folders) RemoveAll() {
	_ = f.opt.As.Do(func() error {
		entries, err := listFolder(f.opt.Sandbox, f.opt.Dir) // its own folder is closed to who isn't its executor
		for _, e := range entries {
			err = errors.Join(err, removeTree(f.opt.Sandbox, filepath.Join(f.opt.Dir, e.Name())))
		}
		return err
	})
	if err := f.opt.Sandbox.Remove(f.opt.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.opt.Log.Warn("working folders of tasks not removed", "folder", f.opt.Dir, "error", err)
	}
}

// longestVariable is how long NAME=VALUE may be with the zero byte that ends it: Linux's MAX_ARG_STRLEN where a page
// has 4 KiB.
const longestVariable = 128 << 10

// MoveLarge writes the values of the variables with these names that are too long for one into files of the process's
// folder for TMPDIR. NAME is not set then, and NAME_FILE is the file's path.
func (f *Folders) MoveLarge(env map[string]string, names []string, temporary string) error {
	for _, name := range names {
		value := env[name]
		if len(name)+len("=")+len(value)+1 <= longestVariable {
			continue
		}
		path := filepath.Join(temporary, name)
		inside, err := filepath.Rel(f.opt.Sandbox.Name(), path)
		if err != nil {
			return err
		}
		if err := f.opt.As.Do(func() error { return f.opt.Sandbox.WriteFile(inside, []byte(value), 0o600) }); err != nil {
			return err
		}
		delete(env, name)
		env[name+"_FILE"] = path
	}
	return nil
}
