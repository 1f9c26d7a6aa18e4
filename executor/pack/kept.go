package pack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// seal makes a package ready to be kept: it sees to it that all is on the disk, so that no power cut can leave empty
// files under a good name, and takes its inventory.
func seal(ctx context.Context, root *os.Root, dir string) (inventory, error) {
	const few = 64 // above that, one call for the whole file system is cheaper
	var paths []string
	err := walk(root, func(path string, info fs.FileInfo) error {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if info.IsDir() || info.Mode().IsRegular() {
			paths = append(paths, "."+path)
		}
		if len(paths) > few {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return inventory{}, err
	}
	if len(paths) > few {
		err = withFile(root, ".", func(f *os.File) error { return unix.Syncfs(int(f.Fd())) })
	} else {
		for _, path := range paths {
			err = errors.Join(err, withFile(root, path, (*os.File).Sync))
		}
	}
	if err != nil {
		return inventory{}, err
	}
	return takeInventory(ctx, root, dir)
}

func withFile(root *os.Root, path string, do func(*os.File) error) error {
	f, err := openPlain(root, path, os.O_RDONLY)
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

// readRecord reads one of the store's own small files.
func readRecord(cache *os.Root, name string, to any) bool {
	f, err := openPlain(cache, name, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return err == nil && json.Unmarshal(data, to) == nil
}

// writeRecord writes it, by way of a file in work.
func writeRecord(cache *os.Root, work, name string, record any) error {
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	temporary := path.Join(work, "record")
	if err := cache.WriteFile(temporary, data, 0o644); err != nil {
		return err
	}
	return cache.Rename(temporary, name)
}

// place gives the unpacked package, of the folder of a fetch, its name. If there is one already, since it was changed,
// the two change places at once, so that whoever runs with it finds the good one under its name, and the other is
// removed with its new folder.
func (s *Store) place(cache *os.Root, name, work string) error {
	content, from := contentName(name), path.Join(work, unpacked)
	err := cache.Rename(from, content)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if info, err := cache.Lstat(content); err == nil && info.IsDir() {
		_ = cache.Chmod(content, 0o700) // a task may have closed it
	}
	if exchange(cache, from, content) == nil {
		return nil
	}
	// Not every file system can do that.
	if trash := s.discard(cache, name); trash != "" {
		defer s.remove(cache, trash)
	}
	return cache.Rename(from, content)
}

// exchange has two names change places.
func exchange(root *os.Root, one, other string) error {
	from, err := root.Open(path.Dir(one))
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := root.Open(path.Dir(other))
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	return unix.Renameat2(int(from.Fd()), path.Base(one), int(to.Fd()), path.Base(other), unix.RENAME_EXCHANGE)
}

// discard takes a kept package's name from it, and gives the folder that is to be removed then. So a
// half of it never counts as a package, even if this process is killed meanwhile.
func (s *Store) discard(cache *os.Root, name string) (trash string) {
	trash, err := makeTemporary(cache, "tmp/old-")
	if err == nil {
		content, to := contentName(name), path.Join(trash, unpacked)
		if err = cache.Rename(content, to); errors.Is(err, fs.ErrPermission) {
			_ = cache.Chmod(content, 0o700) // a task has closed it
			err = cache.Rename(content, to)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("package not removed from the cache", "content", name, "error", err)
		return trash
	}
	_ = cache.Remove(recordOf(name))
	return trash
}
