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

// seal prepares a package that will be kept. It syncs all files to the disk, so that a power failure can't leave empty
// files under their names, and takes the inventory.
func seal(ctx context.Context, root *os.Root, dir string) (inventory, error) {
	const maxSyncs = 64 // for more files, one sync of the whole file system is faster
	var paths []string
	err := walk(root, func(path string, info fs.FileInfo) error {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if info.IsDir() || info.Mode().IsRegular() {
			paths = append(paths, "."+path)
		}
		if len(paths) > maxSyncs {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return inventory{}, err
	}
	if len(paths) > maxSyncs {
		err = syncFile(root, ".", func(f *os.File) error { return unix.Syncfs(int(f.Fd())) })
	} else {
		for _, path := range paths {
			err = errors.Join(err, syncFile(root, path, (*os.File).Sync))
		}
	}
	if err != nil {
		return inventory{}, err
	}
	return takeInventory(ctx, root, dir)
}

// syncFile opens a file or folder and syncs it with a function.
func syncFile(root *os.Root, path string, sync func(*os.File) error) error {
	f, err := openPlain(root, path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	// A file system that does not support the call returns EINVAL.
	if err := sync(f); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("sync %s to the disk: %w", path, err)
	}
	return nil
}

// readRecord reads one of the store's own small files into record. If it fails, it returns false, and record may have a
// part of the content.
func readRecord(cache *os.Root, name string, record any) bool {
	f, err := openPlain(cache, name, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return err == nil && json.Unmarshal(data, record) == nil
}

// writeRecord writes one of the store's own small files. It first writes a file in work, and then renames that.
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

// publish moves the unpacked package from work, the folder of its fetch, to its final name. If a package that was
// changed has that name, publish exchanges the two atomically. Tasks that use the name then find the new package, and
// the old one is removed with the folder of the fetch.
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
func exchange(root *os.Root, a, b string) error {
	folderA, err := root.Open(path.Dir(a))
	if err != nil {
		return err
	}
	defer func() { _ = folderA.Close() }()
	folderB, err := root.Open(path.Dir(b))
	if err != nil {
		return err
	}
	defer func() { _ = folderB.Close() }()
	return unix.Renameat2(int(folderA.Fd()), path.Base(a), int(folderB.Fd()), path.Base(b), unix.RENAME_EXCHANGE)
}

// discard renames a kept package into a temporary folder, and returns that folder, which the caller must remove. So if
// this process is killed during the removal, what is left does not count as a package.
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
