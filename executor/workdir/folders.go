// Package workdir creates the folders in which an executor's tasks work. Each folder shows the task's package, and is
// restored and reused after the task (view.go, folder.go, folders.go).
package workdir

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// Every attempt works in its own folder, which shows the package. A file that the attempt writes there is neither in
// the package, which other tasks use, nor in the folder of another attempt. The folder consists of real folders and of
// symbolic links to the package's files, so nothing is copied. Hard links would be wrong: a write through a hard link
// would change the package's own file, and each new link changes the time by which such a write is detected.
//
// Most tasks leave the folder unchanged. It is then given to a later task, because creating and removing many files is
// slow. A folder for TMPDIR is a working folder without a package.

// folderMode is the mode of the folders that tasks get.
const folderMode = 0o755

// Folders are the working folders, or the TMPDIR folders, of an executor's tasks. All accesses go through the open
// sandbox: tasks can put links in the place of their folders at any moment, but no link leads out of the sandbox.
type Folders struct {
	opt Options

	mu      sync.Mutex
	pools   []*pool // in the order of creation
	created int
	kept    map[string][]string // the kept folders, by Keep.Group, the oldest first
}

// Options describe the place and the owner of the folders.
type Options struct {
	// Sandbox must stay open as long as the Folders are used.
	Sandbox *os.Root
	// Dir is the name of the folder in the sandbox that contains the folders in use and the free ones.
	Dir string
	// Kept is the name of the folder in the sandbox for the folders that are kept.
	Kept string
	// As is the account with whose rights the folders are accessed.
	As  *isolation.Account
	Log *slog.Logger
}

// Keep says whether and how a folder is kept when no process is left in it. The zero value means that it is reused.
type Keep struct {
	// Name is the name under which the folder is kept; "" means that it is reused.
	Name string
	// Group is the group of the folder. The last Number folders of a group are kept.
	Group  string
	Number int
}

// New returns Folders. It does not create a folder.
func New(o Options) *Folders { return &Folders{opt: o, kept: map[string][]string{}} }

// pool are the free folders for one package in one state.
type pool struct {
	root, state string
	view        *view
	free        []folder
}

// workPools is the maximum number of pools. There is one for each state of a package and root in it. workPools pools
// suffice for an app before and after a change of its package, with jobs that have different roots.
const workPools = 4

// Take returns the absolute path of a folder with the content of root, a folder of a package. Without a root it returns
// an empty folder. state is the state of the package. If only state is empty, the package belongs to this task only,
// and the folder is not reused. The caller must call release when no process is left in the folder.
func (f *Folders) Take(root, state string) (path string, release func(Keep), err error) {
	pool, err := f.poolFor(root, state)
	if err != nil {
		return "", nil, err
	}
	f.mu.Lock()
	var w folder
	if n := len(pool.free); n > 0 {
		w, pool.free = pool.free[n-1], pool.free[:n-1]
	} else {
		f.created++
		w.path = filepath.Join(f.opt.Dir, strconv.Itoa(f.created))
	}
	f.mu.Unlock()
	if err := f.prepare(&w, pool.view); err != nil {
		return "", nil, err
	}
	return filepath.Join(f.opt.Sandbox.Name(), w.path), func(k Keep) { f.put(pool, w, k) }, nil
}

func (f *Folders) poolFor(root, state string) (*pool, error) {
	f.mu.Lock()
	i := slices.IndexFunc(f.pools, func(p *pool) bool { return p.root == root && p.state == state })
	if i >= 0 {
		defer f.mu.Unlock()
		return f.pools[i], nil
	}
	f.mu.Unlock()
	v, err := viewOf(root)
	if err != nil {
		return nil, err
	}
	pool := &pool{root: root, state: state, view: v}
	if root != "" && state == "" {
		return pool, nil // no other task will use it
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

// put keeps, reuses or removes a folder in which no process is left.
func (f *Folders) put(pool *pool, w folder, k Keep) {
	if k.Name != "" && k.Number > 0 {
		f.keep(w.path, k)
		return
	}
	f.mu.Lock()
	reuse := slices.Contains(f.pools, pool)
	f.mu.Unlock()
	if !reuse {
		f.remove(w.path)
		return
	}
	if err := f.prepare(&w, pool.view); err != nil {
		f.opt.Log.Warn("working folder not prepared for another task", "folder", w.path, "error", err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	pool.free = append(pool.free, w)
}

// prepare makes the folder match the view, or removes it.
func (f *Folders) prepare(w *folder, v *view) error {
	if w.unchanged(f.opt.Sandbox, v) {
		return nil
	}
	err := f.opt.As.Do(func() error { return w.restore(f.opt.Sandbox, v) })
	if err != nil {
		f.remove(w.path)
	}
	return err
}

// keep keeps the folder of a task, and removes the oldest folders of its group beyond the limit.
func (f *Folders) keep(path string, k Keep) {
	keptPath := filepath.Join(f.opt.Kept, k.Name)
	err := f.opt.As.Do(func() error {
		if err := f.opt.Sandbox.MkdirAll(f.opt.Kept, folderMode); err != nil {
			return err
		}
		_ = pack.RemoveBelow(f.opt.Sandbox, keptPath) // only a task can have created it
		return f.opt.Sandbox.Rename(path, keptPath)
	})
	if err != nil {
		f.opt.Log.Warn("working folder not kept", "folder", path, "error", err)
		f.remove(path)
		return
	}
	f.opt.Log.Info("working folder kept", "folder", keptPath)
	f.mu.Lock()
	kept := append(f.kept[k.Group], keptPath)
	n := max(len(kept)-k.Number, 0)
	old := slices.Clone(kept[:n])
	f.kept[k.Group] = slices.Delete(kept, 0, n)
	f.mu.Unlock()
	for _, path := range old {
		f.remove(path)
	}
}

func (f *Folders) remove(path string) {
	if err := f.opt.As.Do(func() error { return pack.RemoveBelow(f.opt.Sandbox, path) }); err != nil {
		f.opt.Log.Warn("working folder of a task not removed", "folder", path, "error", err)
	}
}

// RemoveAll removes all folders that are not kept, with the rights of their user, and then the folder Dir, which only
// the executor may remove.
func (f *Folders) RemoveAll() {
	_ = f.opt.As.Do(func() error {
		entries, err := listFolder(f.opt.Sandbox, f.opt.Dir) // their user can't remove Dir itself from the sandbox
		for _, e := range entries {
			err = errors.Join(err, pack.RemoveBelow(f.opt.Sandbox, filepath.Join(f.opt.Dir, e.Name())))
		}
		return err
	})
	if err := f.opt.Sandbox.Remove(f.opt.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.opt.Log.Warn("working folders of tasks not removed", "folder", f.opt.Dir, "error", err)
	}
}

// longestVariable is the maximum length of NAME=VALUE with its terminating zero byte. It is MAX_ARG_STRLEN of Linux
// for pages of 4 KiB.
const longestVariable = 128 << 10

// MoveLarge moves values of the named variables into files in the process's TMPDIR. It moves each value that is too
// long for a variable. If all variables and arguments together are more than the system passes to a process, it also
// moves other values, the longest first, until the rest fits. For each moved value it removes NAME from env and sets
// NAME_FILE to the file's path. It returns an error if the rest is still too much.
func (f *Folders) MoveLarge(env map[string]string, args, names []string, temporary string) error {
	return f.moveLarge(env, args, names, temporary, processLimit())
}

func (f *Folders) moveLarge(env map[string]string, args, names []string, temporary string, limit int) error {
	const pointer = 8 // the size of a pointer, which each text also needs
	total := 0
	for _, arg := range args {
		total += len(arg) + 1 + pointer
	}
	for name, value := range env {
		total += len(name) + len("=") + len(value) + 1 + pointer
	}
	names = slices.Clone(names)
	slices.SortFunc(names, func(a, b string) int { return len(env[b]) - len(env[a]) })
	for _, name := range names {
		value := env[name]
		if len(name)+len("=")+len(value)+1 <= longestVariable && (total <= limit || len(value) < shortestMoved) {
			continue
		}
		path := filepath.Join(temporary, name)
		inside, err := filepath.Rel(f.opt.Sandbox.Name(), path)
		if err != nil {
			return err
		}
		err = f.opt.As.Do(func() error { return f.opt.Sandbox.WriteFile(inside, []byte(value), 0o600) })
		if err != nil {
			return fmt.Errorf("write a value that is too large for a variable into a file in TMPDIR: %w", err)
		}
		delete(env, name)
		env[name+"_FILE"] = path
		total += len("_FILE") + len(path) - len(value)
	}
	if total > limit {
		return fmt.Errorf("its variables and arguments have %d KiB together, and a process of this agent can get %d KiB (a quarter of its stack limit): put data into files of the package, or raise the stack limit of the executor", total>>10, limit>>10)
	}
	return nil
}

// shortestMoved is the length of the shortest value that is moved to save space: the path of the file also takes space.
const shortestMoved = 4 << 10

// processLimit returns how many bytes the variables and arguments of a process may have together. As execve(2) says,
// that is a quarter of the stack limit, at least 128 KiB and at most 6 MiB. A reserve is left for the path of the
// program and an interpreter's line.
func processLimit() int {
	const smallest, largest, reserve = 128 << 10, 6 << 20, 8 << 10
	var stack unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_STACK, &stack) != nil {
		return smallest - reserve
	}
	return int(min(max(stack.Cur/4, smallest), largest)) - reserve
}
