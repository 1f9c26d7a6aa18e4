package workdir

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// view describes the content of a working folder.
type view struct {
	// folders are the real folders, parents first. "" is the working folder itself.
	folders []string
	// entries are the entries of each real folder, by name: the target of a link, or "" for a real folder.
	entries map[string]map[string]string
}

// maxViewEntries limits the entries of a working folder; the package's top folder may exceed it alone. A further folder
// that would exceed the limit is a link to the package's folder. Files that a task writes there are written into the
// package.
const maxViewEntries = 500

// viewOf reads a package. The view is empty if root is empty. A package that a job has changed may be replaced at the
// same time. viewOf may then have read a part of the old package, which is being removed, and reads again.
func viewOf(root string) (*view, error) {
	if root == "" {
		return readView("")
	}
	for {
		folder, err := os.Open(root) // while it is open, its inode is not reused
		if err != nil {
			return nil, err
		}
		v, err := readView(root)
		replaced := !isSameFolder(root, folder)
		_ = folder.Close()
		if !replaced {
			return v, err
		}
	}
}

// isSameFolder reports whether path still leads to the folder that was opened by it.
func isSameFolder(path string, folder *os.File) bool {
	opened, err := folder.Stat()
	if err != nil {
		return false
	}
	current, err := os.Stat(path)
	return err == nil && os.SameFile(opened, current)
}

// readView reads a package's folders, breadth first.
func readView(root string) (*view, error) {
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
		if dir != "" && seen+len(found) > maxViewEntries {
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
				// A link within the package points to the same place in the working folder.
				target, err := os.Readlink(filepath.Join(root, inside))
				if err != nil {
					return nil, err
				}
				if filepath.IsLocal(filepath.Join(dir, target)) {
					entries[e.Name()] = target
				}
			}
		}
	}
	return v, nil
}

// InView replaces the package's paths in a command by those of the working folder: the path of the program, and the
// first argument that is in the package. A program that looks for files beside itself then finds them in the working
// folder, where it may write.
func InView(root, work, path string, args []string) (string, []string) {
	if root == "" {
		return path, args
	}
	inWork := func(text string) (string, bool) {
		inside, ok := strings.CutPrefix(text, root+string(filepath.Separator))
		if !ok {
			return text, false
		}
		return filepath.Join(work, inside), true
	}
	program, _ := inWork(path)
	for i, arg := range args {
		if moved, ok := inWork(arg); ok {
			args[i] = moved // the file of the command, if the program is its interpreter
			break
		}
	}
	return program, args
}
