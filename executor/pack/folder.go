package pack

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"
)

// Tasks that run as the executor's user can put links in the place of all that is in the cache and in the sandbox, to
// what the executor sees and they don't. So names there are looked up below a folder that is held open, and no link
// leads out of it.

// makeFolder makes a folder below root, in the place of whatever else has its name.
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

// makeTemporary makes a folder below root whose name begins so, and that nobody else knows.
func makeTemporary(root *os.Root, prefix string) (name string, err error) {
	name = prefix + rand.Text()
	return name, root.Mkdir(name, 0o700)
}

// removeIn is RemoveTree below root.
func removeIn(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if err == nil {
		return nil
	}
	_ = fs.WalkDir(root.FS(), name, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = root.Chmod(path, 0o700) // before it is read
		}
		return nil
	})
	return root.RemoveAll(name)
}

// openPlain opens a file or folder below root. Tasks can put links and pipes in its place: it follows none, and waits
// for none.
func openPlain(root *os.Root, name string, flags int) (*os.File, error) {
	if info, err := root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is no file", name)
	}
	f, err := root.OpenFile(name, flags|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		_ = f.Close()
		return nil, fmt.Errorf("%s is no file", name)
	}
	return f, nil
}

// entriesOf are the names in a folder below root, sorted.
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

// maxDepth bounds how many folders a walk holds open. Packages are unpacked with fewer above each other
// (Limits.Depth).
const maxDepth = 256

// walk visits a folder, as "", and all that is below it, as "/name" and "/name/name", each before what is in it and in
// the order of their names. It follows no link. The visitor can end it with fs.SkipAll.
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

func walkBelow(folder *os.Root, at string, depth int, visit func(path string, info fs.FileInfo) error) error {
	if depth > maxDepth {
		return fmt.Errorf("more than %d folders in each other", maxDepth)
	}
	names, err := entriesOf(folder, ".")
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := folder.Lstat(name)
		if err == nil {
			err = visit(at+"/"+name, info)
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
		err = walkBelow(below, at+"/"+name, depth+1, visit)
		if err = errors.Join(err, below.Close()); err != nil {
			return err
		}
	}
	return nil
}

// openPackage opens the folder of a package. What is not there, or no folder any more, is gone.
func openPackage(root *os.Root, name string) (*os.Root, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errStrange
	}
	return root.OpenRoot(name)
}

// openIn opens the folder dir and a package below it.
func openIn(dir, name string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return openPackage(root, name)
}

// contentName is that of a kept package, below the cache.
func contentName(name string) string { return path.Join("content", name) }
