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
	"syscall"

	"golang.org/x/sys/unix"
)

// seal makes a package ready to be kept: it sees to it that all is on the disk, so that no power cut can leave empty files under a
// good name, and takes its inventory.
func seal(ctx context.Context, dir string) (inventory, error) {
	const few = 64 // above that, one call for the whole file system is cheaper
	var paths []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil {
			return err
		}
		if d.IsDir() || d.Type().IsRegular() {
			paths = append(paths, path)
		}
		if len(paths) > few {
			return filepath.SkipAll
		}
		return nil
	})
	if err != nil {
		return inventory{}, err
	}
	if len(paths) > few {
		err = withFile(dir, func(f *os.File) error { return unix.Syncfs(int(f.Fd())) })
	} else {
		for _, path := range paths {
			err = errors.Join(err, withFile(path, (*os.File).Sync))
		}
	}
	if err != nil {
		return inventory{}, err
	}
	return takeInventory(ctx, dir)
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

// place gives the unpacked package its name. If there is one already, since it was changed, the two change places at
// once, so that whoever runs with it finds the good one under its name, and the other is removed with its new folder.
func (s *Store) place(name, unpacked string) error {
	content := s.content(name)
	err := os.Rename(unpacked, content)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if info, err := os.Lstat(content); err == nil && info.IsDir() {
		_ = os.Chmod(content, 0o700) // a task may have closed it
	}
	if unix.Renameat2(unix.AT_FDCWD, unpacked, unix.AT_FDCWD, content, unix.RENAME_EXCHANGE) == nil {
		return nil
	}
	// Not every file system can do that.
	if trash := s.discard(name); trash != "" {
		defer s.remove(trash)
	}
	return os.Rename(unpacked, content)
}

// discard takes a kept package's name from it, and gives the folder that is to be removed then. So a
// half of it never counts as a package, even if this process is killed meanwhile.
func (s *Store) discard(name string) (trash string) {
	trash, err := os.MkdirTemp(filepath.Join(s.dir, "tmp"), "old-")
	if err == nil {
		content, to := s.content(name), filepath.Join(trash, "package")
		if err = os.Rename(content, to); errors.Is(err, fs.ErrPermission) {
			_ = os.Chmod(content, 0o700) // a task has closed it
			err = os.Rename(content, to)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("package not removed from the cache", "content", name, "error", err)
		return trash
	}
	_ = os.Remove(s.recordOf(name))
	return trash
}
