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

// seal prepares a package to be kept. It writes all of its files to the disk, so that a power failure can't leave
// empty files under their names, and takes the inventory.
func seal(ctx context.Context, root *os.Root, dir string) (inventory, error) {
	const few = 64 // for more files, one sync of the whole file system is faster
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
	// A file system that does not support the call returns EINVAL.
	if err := do(f); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("sync %s to the disk: %w", path, err)
	}
	return nil
}

// readRecord reads one of the store's own small files, and reports whether it could.
func readRecord(cache *os.Root, name string, to any) bool {
	f, err := openPlain(cache, name, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return err == nil && json.Unmarshal(data, to) == nil
}

// writeRecord writes such a file: first to a file in work, which it then renames.
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

// publish moves the unpacked package from the folder of its fetch to its final name. If a package has that name
// already, because it was changed, the two are exchanged atomically: tasks that use the name then find the good
// one, and the other is removed with the folder of the fetch.
func (s *Store) publish(cache *os.Root, name, work string) error {
	content, from := contentName(name), path.Join(work, unpacked)
	err := cache.Rename(from, content)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if info, err := cache.Lstat(content); err == nil && info.IsDir() {
		_ = cache.Chmod(content, 0o700) // a task may have removed the permissions
	}
	if exchange(cache, from, content) == nil {
		return nil
	}
	// Not every file system supports the exchange.
	if trash := s.discard(cache, name); trash != "" {
		defer s.remove(cache, trash)
	}
	return cache.Rename(from, content)
}

// exchange exchanges two names atomically.
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

// discard renames a kept package into a temporary folder, and returns that folder, which the caller must remove. So
// a partly removed package never counts as a package, even if this process is killed in between.
func (s *Store) discard(cache *os.Root, name string) (trash string) {
	trash, err := makeTemporary(cache, "tmp/old-")
	if err == nil {
		content, to := contentName(name), path.Join(trash, unpacked)
		if err = cache.Rename(content, to); errors.Is(err, fs.ErrPermission) {
			_ = cache.Chmod(content, 0o700) // a task has removed the permissions
			err = cache.Rename(content, to)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("package not removed from the cache", "content", name, "error", err)
		return trash
	}
	_ = cache.Remove(inventoryName(name))
	return trash
}
