package executor

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// Every attempt works in a folder of its own, in which it finds its package: what it writes there neither reaches the
// package, which others use, nor another attempt. The folder is made of real folders and of links to the package's files, so it
// costs no copy. Links, and not hard links: a write through those would reach the package's own file, and each of them
// changes the time that shows such a write.
//
// Most tasks leave the folder as it was. It is given to a later one then, since making and removing many files is slow. A folder for
// TMPDIR is a working folder without a package.

// folderMode is that of the folders that tasks are given.
const folderMode = 0o755

// view is what a working folder is made of, by real folder: what lies in it, with the target of each link, "" for a folder.
type view struct {
	folders []string // what contains others comes first; "" is the working folder itself
	entries map[string]map[string]string
}

// viewEntries is how many entries of a package a working folder has as its own at most, beyond those of the package's top
// folder. Folders that would exceed it are links to the package's: what is written there is written into the package.
const viewEntries = 500

// viewOf looks at a package. Without one, the working folder is empty. A package that a job has changed may be replaced meanwhile: then
// what was seen is what is left of the old one, which is being removed, and viewOf looks again.
func viewOf(root string) (*view, error) {
	if root == "" {
		return look("")
	}
	for {
		folder, err := os.Open(root) // as long as it is open, no other folder gets its inode
		if err != nil {
			return nil, err
		}
		v, err := look(root)
		replaced := !leadsBack(root, folder)
		_ = folder.Close()
		if !replaced {
			return v, err
		}
	}
}

// leadsBack reports whether the path is still that of a folder which was opened by it.
func leadsBack(path string, folder *os.File) bool {
	then, err := folder.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(then, now)
}

// look reads a package's folders, breadth first.
func look(root string) (*view, error) {
	v := &view{entries: map[string]map[string]string{}}
	seen := 0
	for queue := []string{""}; len(queue) > 0; queue = queue[1:] {
		dir := queue[0]
		var found []fs.DirEntry
		if root != "" {
			var err error
			if found, err = os.ReadDir(filepath.Join(root, dir)); err != nil {
				return nil, err
			}
		}
		if dir != "" && seen+len(found) > viewEntries {
			parent, name := filepath.Split(dir)
			v.entries[strings.TrimSuffix(parent, "/")][name] = filepath.Join(root, dir)
			continue
		}
		seen += len(found)
		v.folders = append(v.folders, dir)
		entries := make(map[string]string, len(found))
		v.entries[dir] = entries
		for _, e := range found {
			inside := filepath.Join(dir, e.Name())
			entries[e.Name()] = filepath.Join(root, inside)
			switch {
			case e.IsDir():
				entries[e.Name()] = ""
				queue = append(queue, inside)
			case e.Type()&fs.ModeSymlink != 0:
				// A link within the package leads to the same place of the working folder.
				to, err := os.Readlink(filepath.Join(root, inside))
				if err != nil {
					return nil, err
				}
				if filepath.IsLocal(filepath.Join(dir, to)) {
					entries[e.Name()] = to
				}
			}
		}
	}
	return v, nil
}

// workFolder is a working folder with the stamps of its real folders, in the view's order, from when all was as it should be.
type workFolder struct {
	path   string
	stamps []stamp
}

// untouched reports whether nothing was added to the folder, removed from it or exchanged in it.
func (w *workFolder) untouched(sandbox *os.Root, v *view) bool {
	if len(w.stamps) != len(v.folders) {
		return false
	}
	for i, dir := range v.folders {
		info, err := sandbox.Lstat(filepath.Join(w.path, dir))
		if err != nil || w.stamps[i] == (stamp{}) || stampOf(info) != w.stamps[i] {
			return false
		}
	}
	return true
}

// restore makes the folder what the view says: it removes what doesn't belong there, and makes what is missing.
func (w *workFolder) restore(sandbox *os.Root, v *view) error {
	w.stamps = w.stamps[:0]
	for _, dir := range v.folders {
		path := filepath.Join(w.path, dir)
		before, err := realFolder(sandbox, path)
		if err != nil {
			return err
		}
		if err := restoreEntries(sandbox, path, v.entries[dir]); err != nil {
			return err
		}
		w.stamps = append(w.stamps, stampOf(before))
	}
	return nil
}

// realFolder makes sure that the path is a folder that this user can write to, and gives what was seen of it last.
func realFolder(sandbox *os.Root, path string) (fs.FileInfo, error) {
	info, err := sandbox.Lstat(path)
	if err == nil && !info.IsDir() {
		if err = sandbox.Remove(path); err == nil {
			err = fs.ErrNotExist
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = sandbox.MkdirAll(path, folderMode)
	case err == nil && info.Mode().Perm() == folderMode:
		return info, nil
	case err == nil:
		err = sandbox.Chmod(path, folderMode)
	}
	if err != nil {
		return nil, err
	}
	return sandbox.Lstat(path)
}

func restoreEntries(sandbox *os.Root, path string, want map[string]string) error {
	found, err := listFolder(sandbox, path)
	if err != nil {
		return err
	}
	right := 0
	for _, e := range found {
		name := filepath.Join(path, e.Name())
		to, wanted := want[e.Name()]
		if wanted && (to == "" && e.IsDir() || to != "" && leadsTo(sandbox, name, to)) {
			right++
			continue
		}
		if err := removeTree(sandbox, name); err != nil {
			return err
		}
	}
	if right == len(want) {
		return nil
	}
	for name, to := range want {
		if to == "" {
			continue // made when its turn comes
		}
		if err := sandbox.Symlink(to, filepath.Join(path, name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

func leadsTo(sandbox *os.Root, link, target string) bool {
	to, err := sandbox.Readlink(link)
	return err == nil && to == target
}

func listFolder(sandbox *os.Root, path string) ([]fs.DirEntry, error) {
	folder, err := sandbox.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	return folder.ReadDir(-1)
}

// removeTree removes a folder with all that is in it, also where a task has taken its own permissions away.
func removeTree(sandbox *os.Root, path string) error {
	if err := sandbox.RemoveAll(path); err == nil {
		return nil
	}
	openTree(sandbox, path)
	return sandbox.RemoveAll(path)
}

// openTree gives the folders of a tree their permissions back, as far as they are this user's.
func openTree(sandbox *os.Root, path string) {
	if info, err := sandbox.Lstat(path); err != nil || !info.IsDir() {
		return
	}
	_ = sandbox.Chmod(path, 0o700) // before it is read
	entries, _ := listFolder(sandbox, path)
	for _, e := range entries {
		if e.IsDir() {
			openTree(sandbox, filepath.Join(path, e.Name()))
		}
	}
}

// inView gives the paths of a command in the working folder instead of those in the package, so that what a program
// looks for beside itself is found in the working folder, where it may write.
func inView(root, work, path string, args []string) (string, []string) {
	if root == "" {
		return path, args
	}
	move := func(text string) (string, bool) {
		inside, ok := strings.CutPrefix(text, root+string(filepath.Separator))
		if !ok {
			return text, false
		}
		return filepath.Join(work, inside), true
	}
	program, _ := move(path)
	for i, arg := range args {
		if moved, ok := move(arg); ok {
			args[i] = moved // the file, perhaps behind its interpreter
			break
		}
	}
	return program, args
}

// workFolders are the working folders, or those for TMPDIR, of an executor's tasks. All is done below the sandbox, which is
// held open: tasks can put links in the place of their folders at any moment, and none leads out of it.
type workFolders struct {
	sandbox *os.Root
	// These are names in the sandbox.
	dir  string             // of the folders in use, and of those that wait to be
	kept string             // of those of failed tasks
	keep int                // how many of these
	as   *isolation.Account // with whose rights all is done in them
	log  *slog.Logger

	mu     sync.Mutex
	pools  []*workPool // the one made last comes last
	made   int
	failed []string // oldest first
}

// workPool is what belongs to one package in one state.
type workPool struct {
	root, state string
	view        *view
	free        []workFolder
}

// workPools is how many packages, or roots in them, have folders that wait: those of an app before and after a change
// of its package, with jobs that start in another place of it.
const workPools = 4

// take gives a folder with what is in root. The state is that of the package; an empty one is a package of this task alone.
// The returned function must be called when no process is left in the folder, with the name under which it is kept, or "".
func (f *workFolders) take(root, state string) (path string, release func(keepAs string), err error) {
	pool, err := f.pool(root, state)
	if err != nil {
		return "", nil, err
	}
	f.mu.Lock()
	var w workFolder
	if n := len(pool.free); n > 0 {
		w, pool.free = pool.free[n-1], pool.free[:n-1]
	} else {
		f.made++
		w.path = filepath.Join(f.dir, strconv.Itoa(f.made))
	}
	f.mu.Unlock()
	if !w.untouched(f.sandbox, pool.view) {
		if err := f.as.Do(func() error { return w.restore(f.sandbox, pool.view) }); err != nil {
			f.remove(w.path)
			return "", nil, err
		}
	}
	return filepath.Join(f.sandbox.Name(), w.path), func(keepAs string) { f.put(pool, w, keepAs) }, nil
}

func (f *workFolders) pool(root, state string) (*workPool, error) {
	f.mu.Lock()
	i := slices.IndexFunc(f.pools, func(p *workPool) bool { return p.root == root && p.state == state })
	if i >= 0 {
		defer f.mu.Unlock()
		return f.pools[i], nil
	}
	f.mu.Unlock()
	v, err := viewOf(root)
	if err != nil {
		return nil, err
	}
	pool := &workPool{root: root, state: state, view: v}
	if root != "" && state == "" {
		return pool, nil // nobody will want it again
	}
	f.mu.Lock()
	f.pools = append(f.pools, pool)
	var old []workFolder
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

func (f *workFolders) put(pool *workPool, w workFolder, keepAs string) {
	if keepAs != "" && f.keep > 0 {
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
	if !w.untouched(f.sandbox, pool.view) {
		if err := f.as.Do(func() error { return w.restore(f.sandbox, pool.view) }); err != nil {
			f.log.Warn("working folder not prepared for another task", "folder", w.path, "error", err)
			f.remove(w.path)
			return
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	pool.free = append(pool.free, w)
}

// keepFailed keeps the folder of a failed task, and removes the oldest beyond the bound.
func (f *workFolders) keepFailed(path, name string) {
	to := filepath.Join(f.kept, name)
	err := f.as.Do(func() error {
		if err := f.sandbox.MkdirAll(f.kept, folderMode); err != nil {
			return err
		}
		_ = removeTree(f.sandbox, to) // which is a task's doing
		return f.sandbox.Rename(path, to)
	})
	if err != nil {
		f.log.Warn("working folder of a failed task not kept", "folder", path, "error", err)
		f.remove(path)
		return
	}
	f.log.Info("working folder of a failed task kept", "folder", to)
	f.mu.Lock()
	f.failed = append(f.failed, to)
	n := max(len(f.failed)-f.keep, 0)
	old := slices.Clone(f.failed[:n])
	f.failed = slices.Delete(f.failed, 0, n)
	f.mu.Unlock()
	for _, path := range old {
		f.remove(path)
	}
}

func (f *workFolders) remove(path string) {
	if err := f.as.Do(func() error { return removeTree(f.sandbox, path) }); err != nil {
		f.log.Warn("working folder of a task not removed", "folder", path, "error", err)
	}
}

// removeAll removes the folders in use and those that wait to be, and the folder of all of them, which is the executor's to remove.
func (f *workFolders) removeAll() {
	_ = f.as.Do(func() error {
		entries, err := listFolder(f.sandbox, f.dir) // its own folder is closed to who isn't its executor
		for _, e := range entries {
			err = errors.Join(err, removeTree(f.sandbox, filepath.Join(f.dir, e.Name())))
		}
		return err
	})
	if err := f.sandbox.Remove(f.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.log.Warn("working folders of tasks not removed", "folder", f.dir, "error", err)
	}
}

// longestVariable is how long NAME=VALUE may be with the zero byte that ends it: Linux's MAX_ARG_STRLEN where a page has
// 4 KiB.
const longestVariable = 128 << 10

// moveLarge writes the values of the variables with these names that are too long for one into files of the process's
// folder for TMPDIR. NAME is not set then, and NAME_FILE is the file's path.
func (f *workFolders) moveLarge(env map[string]string, names []string, temporary string) error {
	for _, name := range names {
		value := env[name]
		if len(name)+len("=")+len(value)+1 <= longestVariable {
			continue
		}
		path := filepath.Join(temporary, name)
		inside, err := filepath.Rel(f.sandbox.Name(), path)
		if err != nil {
			return err
		}
		if err := f.as.Do(func() error { return f.sandbox.WriteFile(inside, []byte(value), 0o600) }); err != nil {
			return err
		}
		delete(env, name)
		env[name+"_FILE"] = path
	}
	return nil
}
