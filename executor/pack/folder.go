package pack

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
)

// Tasks that run as the executor's user can replace everything in the cache and in the sandbox by links to files that
// they can't see but the executor can. So names in these folders are looked up below an open root, out of which no
// link can lead.

// makeFolder creates a folder below root. It removes a file or link of that name first.
func makeFolder(root *os.Root, name string) error {
	err := root.Mkdir(name, 0o755)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, err := root.Lstat(name); err != nil || info.IsDir() {
		return err
	}
	if err := root.Remove(name); err != nil {
		return err
	}
	return root.Mkdir(name, 0o755)
}

// makeTemporary creates a folder below root. The name is the prefix and a random text that no task can guess.
func makeTemporary(root *os.Root, prefix string) (name string, err error) {
	name = prefix + rand.Text()
	return name, root.Mkdir(name, 0o700)
}

// openPlain opens a regular file or folder below root. If a task has put a link or a pipe in its place, openPlain
// neither follows the link nor waits for the pipe, and returns an error.
func openPlain(root *os.Root, name string, flags int) (*os.File, error) {
	if info, err := root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is not a regular file or folder", name)
	}
	f, err := root.OpenFile(name, flags|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		_ = f.Close()
		return nil, fmt.Errorf("%s is not a regular file or folder", name)
	}
	return f, nil
}

// entriesOf returns the sorted names in a folder below root.
func entriesOf(root *os.Root, name string) ([]string, error) {
	folder, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	names, err := folder.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// maxDepth limits how many folders a walk keeps open. Unpacked packages have fewer levels (Limits.Depth).
const maxDepth = 256

// walk visits a folder, as "", and everything below it, as "/name" and "/name/name". It visits each folder before its
// entries, and the entries in the order of their names. It does not follow links. visit can end the walk with
// fs.SkipAll.
func walk(root *os.Root, visit func(path string, info fs.FileInfo) error) error {
	info, err := root.Lstat(".")
	if err == nil {
		err = visit("", info)
	}
	if err == nil {
		err = walkBelow(root, "", 0, visit)
	}
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

func walkBelow(folder *os.Root, folderPath string, depth int, visit func(path string, info fs.FileInfo) error) error {
	if depth > maxDepth {
		return fmt.Errorf("more than %d nested folders", maxDepth)
	}
	names, err := entriesOf(folder, ".")
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := folder.Lstat(name)
		if err == nil {
			err = visit(folderPath+"/"+name, info)
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			continue
		}
		below, err := folder.OpenRoot(name)
		if err != nil {
			return err
		}
		err = walkBelow(below, folderPath+"/"+name, depth+1, visit)
		if err = errors.Join(err, below.Close()); err != nil {
			return err
		}
	}
	return nil
}

// openPackage opens the folder of a package. The error is fs.ErrNotExist or errIrregular if that folder does not exist
// any more.
func openPackage(root *os.Root, name string) (*os.Root, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errIrregular
	}
	return root.OpenRoot(name)
}

// openIn opens the folder of a package, whose path is dir, below the folder ancestor.
func openIn(ancestor, dir string) (*os.Root, error) {
	name, err := filepath.Rel(ancestor, dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(ancestor)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return openPackage(root, name)
}

// contentName returns the path of a kept package below the cache.
func contentName(name string) string { return path.Join("content", name) }
