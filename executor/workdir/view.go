package workdir

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// view describes the content of a working folder: for each real folder, its entries with the targets of their
// links; "" stands for a folder.
type view struct {
	folders []string // parents first; "" is the working folder itself
	entries map[string]map[string]string
}

// viewEntries limits the entries of a working folder, in addition to those of the package's top folder. Folders
// that would exceed it are links to the package's folders: what a task writes there is written into the package.
const viewEntries = 500

// viewOf reads a package. Without one, the view is empty. A package that a job has changed may be replaced at the
// same time: then viewOf may have read a part of the old one, which is being removed, and reads again.
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
	then, err := folder.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(then, now)
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
				// A link within the package points to the same place in the working folder.
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

// InView replaces the package's paths in a command by those of the working folder, so that a program that looks for
// files beside itself finds them in the working folder, where it may write.
func InView(root, work, path string, args []string) (string, []string) {
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
			args[i] = moved // the file, which may follow its interpreter
			break
		}
	}
	return program, args
}
