package pack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Kept packages lie where whoever makes room, a cleaner of old files or a task can remove some of them. So there
// is a record of each, and what is missing is fetched and put back. What tasks add or change stays.

// census is what is recorded of a kept package.
type census struct {
	// Files counts regular files and links, Filled those files that hold something.
	Files  int `json:"files"`
	Filled int `json:"filled"`
	// Top names the first entries of the folder itself.
	Top []string `json:"top"`
}

const (
	// topNames is how many names a record has at most: Ready may look for all of them.
	topNames = 100
	// mendEvery is how soon what was mended counts as damaged again because of missing entries. What is gone sooner is
	// removed by the tasks themselves, and must not be fetched for each of them.
	mendEvery = 10 * time.Minute
	// settled is how old a folder's last change must be for the next one to have another time for certain.
	settled = 100 * time.Millisecond
)

// walk counts all that a package holds, and visits it. Where err isn't nil there is no info.
func (c *census) walk(ctx context.Context, dir string, visit func(path string, info fs.FileInfo, err error) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil {
			return visit(path, nil, err)
		}
		info, err := d.Info()
		if err != nil {
			return visit(path, nil, err)
		}
		if filepath.Dir(path) == dir && len(c.Top) < topNames {
			c.Top = append(c.Top, d.Name())
		}
		if !d.IsDir() {
			c.Files++
		}
		if d.Type().IsRegular() && info.Size() > 0 {
			c.Filled++
		}
		return visit(path, info, nil)
	})
}

// seal makes a package ready to be kept: it takes the write bits from all files, sees to it that all is on the disk,
// so that no power cut can leave empty files under a good name, and counts it. Folders keep their write bits, so that
// the cache can be removed with rm, and since jobs may write into their folder.
func seal(ctx context.Context, dir string) (found census, err error) {
	const few = 64 // above that, one call for the whole file system is cheaper
	var paths []string
	err = found.walk(ctx, dir, func(path string, info fs.FileInfo, err error) error {
		if err != nil {
			return err
		}
		if info.IsDir() || info.Mode().IsRegular() {
			paths = append(paths, path)
			paths = paths[:min(len(paths), few+1)]
		}
		if info.Mode().IsRegular() {
			return os.Chmod(path, info.Mode().Perm()&^0o222)
		}
		return nil
	})
	if err != nil {
		return found, err
	}
	if len(paths) > few {
		return found, withFile(dir, func(f *os.File) error { return unix.Syncfs(int(f.Fd())) })
	}
	for _, path := range paths {
		if err := withFile(path, (*os.File).Sync); err != nil {
			return found, err
		}
	}
	return found, nil
}

func withFile(path string, do func(*os.File) error) error {
	f, err := openPlain(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	// EINVAL is a file system's that doesn't know this.
	if err := do(f); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("bring %s to the disk: %w", path, err)
	}
	return nil
}

// openPlain opens a file or folder. Tasks can put links and pipes in its place: it follows none, and waits for none.
func openPlain(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		_ = f.Close()
		return nil, fmt.Errorf("%s is no file", path)
	}
	return f, nil
}

// readRecord reads one of the store's own small files.
func readRecord(path string, to any) bool {
	f, err := openPlain(path, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return err == nil && json.Unmarshal(data, to) == nil
}

// writeRecord writes it, by way of a file in work.
func writeRecord(work, path string, record any) error {
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	temporary := filepath.Join(work, "record")
	if err := os.WriteFile(temporary, data, 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

func (s *Store) recordOf(name string) string { return filepath.Join(s.dir, "whole", name) }

// whole tells whether a kept package holds as much as when it was unpacked. One that has no
// record, of an earlier release, counts as whole.
func (s *Store) whole(ctx context.Context, name string) bool {
	var want, found census
	if !readRecord(s.recordOf(name), &want) {
		return true
	}
	// Jobs may be at work in it, so what can't be looked at just isn't counted.
	err := found.walk(ctx, s.content(name), func(string, fs.FileInfo, error) error { return nil })
	return err == nil && found.Files >= want.Files && found.Filled >= want.Filled && holds(s.content(name), want.Top)
}

func holds(dir string, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err != nil
	})
}

// intact tells, as a rule at the price of one look at the folder, whether a package that was handed out is still there.
func (s *Store) intact(e *entry) bool {
	info, err := os.Lstat(e.dir)
	if err != nil || !info.IsDir() {
		return false
	}
	now := stampOf(info)
	s.mu.Lock()
	same := now != stamp{} && now == e.stamp
	mended := s.mended[e.name]
	s.mu.Unlock()
	if same {
		return true
	}
	if !holds(e.dir, e.top) {
		return time.Since(mended) < mendEvery
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.stamp = now
	return true
}

// stamp tells that a folder's own entries are the same as before. The zero value is none.
type stamp struct {
	inode   uint64
	changed int64
}

// stampOf gives none for a folder that was changed just now.
func stampOf(info fs.FileInfo) stamp {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || time.Since(time.Unix(stat.Ctim.Unix())) < settled {
		return stamp{}
	}
	return stamp{inode: stat.Ino, changed: stat.Ctim.Nano()}
}

// place gives the unpacked package its name. If there is one already, because of another URL with the same content or
// since it is damaged, that one is completed: tasks may be running in it.
func (s *Store) place(name, unpacked string) error {
	err := os.Rename(unpacked, s.content(name))
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
		if err = s.mend(name, unpacked); err == nil {
			return nil
		}
		s.log.Warn("can't mend a package in the cache, so it is replaced", "content", name, "error", err)
	}
	if err == nil {
		return nil
	}
	if grave := s.discard(name); grave != "" {
		defer s.remove(grave)
	}
	return os.Rename(unpacked, s.content(name))
}

// mend moves what a kept package lacks into it.
func (s *Store) mend(name, unpacked string) error {
	root, err := os.OpenRoot(s.dir) // so that no link in the package leads out of the cache
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return filepath.WalkDir(unpacked, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(unpacked, path)
		if err != nil {
			return err
		}
		from, err := filepath.Rel(s.dir, path)
		if err != nil {
			return err
		}
		there := filepath.Join("content", name, inside)
		old, err := root.Lstat(there)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case old.Mode().Type() != d.Type():
			if err := root.RemoveAll(there); err != nil {
				return err
			}
		case d.IsDir():
			return nil
		default:
			info, err := d.Info()
			if err != nil || old.Size() > 0 || info.Size() == 0 {
				return err
			}
		}
		if err := root.Rename(from, there); err != nil {
			return err
		}
		if d.IsDir() {
			return filepath.SkipDir
		}
		return nil
	})
}

// discard takes a kept package's name from it, and gives the folder that is to be removed then. So a
// half of it never counts as a package, even if this process is killed meanwhile.
func (s *Store) discard(name string) (grave string) {
	grave, err := os.MkdirTemp(filepath.Join(s.dir, "tmp"), "old-")
	if err == nil {
		content, to := s.content(name), filepath.Join(grave, "package")
		if err = os.Rename(content, to); errors.Is(err, fs.ErrPermission) {
			_ = os.Chmod(content, 0o700) // a task has closed it
			err = os.Rename(content, to)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("can't remove a package from the cache", "content", name, "error", err)
		return grave
	}
	_ = os.Remove(s.recordOf(name))
	return grave
}
