package workdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// folder is a working folder. stamps has the stamps of its real folders, in the order of the view, from the time at
// which the folder last matched the view.
type folder struct {
	path   string
	stamps []stamp
}

// unchanged reports whether no entry of the folder was added, removed or replaced since the stamps were taken.
func (w *folder) unchanged(sandbox *os.Root, v *view) bool {
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

// restore makes the folder match the view: it removes other entries and creates missing ones.
func (w *folder) restore(sandbox *os.Root, v *view) error {
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

// realFolder ensures that the path is a folder that this user can write to, and returns its latest state.
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

// restoreEntries makes the entries of a folder match want, which has the targets of links, and "" for folders. It does
// not create folders.
func restoreEntries(sandbox *os.Root, path string, want map[string]string) error {
	found, err := listFolder(sandbox, path)
	if err != nil {
		return err
	}
	matching := 0
	for _, e := range found {
		name := filepath.Join(path, e.Name())
		target, wanted := want[e.Name()]
		if wanted && (target == "" && e.IsDir() || target != "" && pointsTo(sandbox, name, target)) {
			matching++
			continue
		}
		if err := pack.RemoveBelow(sandbox, name); err != nil {
			return err
		}
	}
	if matching == len(want) {
		return nil
	}
	for name, target := range want {
		if target == "" {
			continue // restore creates this folder later
		}
		if err := sandbox.Symlink(target, filepath.Join(path, name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

func pointsTo(sandbox *os.Root, link, target string) bool {
	found, err := sandbox.Readlink(link)
	return err == nil && found == target
}

func listFolder(sandbox *os.Root, path string) ([]fs.DirEntry, error) {
	folder, err := sandbox.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	return folder.ReadDir(-1)
}

// stamp is a state of a folder. An equal stamp shows that the folder is unchanged, without reading it. The zero value
// never matches.
type stamp struct {
	inode   uint64
	changed int64 // ctime, which no process can set to a given value
}

// minStampAge is how old a folder's last change must be for a stamp. Any later change then certainly has another
// ctime, because the clocks of file systems tick every few milliseconds.
const minStampAge = 100 * time.Millisecond

// stampOf returns the stamp of a folder. It returns the zero stamp if the folder was changed less than minStampAge
// ago, or at a time in the future.
func stampOf(info fs.FileInfo) stamp {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || time.Since(time.Unix(stat.Ctim.Unix())) < minStampAge {
		return stamp{}
	}
	return stamp{inode: stat.Ino, changed: stat.Ctim.Nano()}
}
