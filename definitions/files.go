package definitions

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/textfile"
)

// maxFileBytes is the maximum size of a file; 100,000 jobs need less.
const maxFileBytes = 64 << 20

// Source is the text of a file, with its name for errors.
type Source struct {
	Name string
	Text []byte
}

// Sources reads files, folders and, for "-", stdin. In a folder it reads the files *.yaml and *.yml at any depth,
// except files and folders whose names begin with a dot.
//
// A path that cannot be read is an error, and so is a folder without such files, because otherwise a mistake in the
// path would result in an empty set. Within a folder, a link to a folder or to nothing is an error too. If Sources
// skipped the link, pruning would remove the jobs behind it; if it followed the link, it might never end.
func Sources(paths []string, stdin io.Reader) ([]Source, error) {
	var all []Source
	var failed []error
	for _, path := range paths {
		found, err := sourcesAt(path, stdin)
		all, failed = append(all, found...), append(failed, err)
	}
	return all, errors.Join(failed...)
}

// sourcesAt is Sources for one path.
func sourcesAt(path string, stdin io.Reader) ([]Source, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		source, err := ReadFile(path, stdin)
		return []Source{source}, err
	}
	var found []Source
	root := path + string(filepath.Separator) + "." // "/." follows the path if it is a link
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		hidden := file != root && strings.HasPrefix(entry.Name(), ".")
		switch {
		case err != nil:
			return err
		case hidden && entry.IsDir():
			return fs.SkipDir
		case hidden || entry.IsDir():
			return nil
		case entry.Type()&fs.ModeSymlink != 0:
			if err := checkLink(file); err != nil {
				return err
			}
		}
		if !isYAML(entry.Name()) {
			return nil
		}
		source, err := ReadFile(file, stdin)
		found = append(found, source)
		return err
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("there is no file *.yaml or *.yml below %s; name another folder", path)
	}
	return found, wrap("read definitions", err)
}

// checkLink returns an error for a link to a folder or to nothing.
func checkLink(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a link to a folder, and such links are not followed; "+
			"put the folder itself there, or name it beside this one", path)
	}
	return err
}

// isYAML reports whether a name is that of a file of definitions.
func isYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// ReadFile reads one file or, for "-", stdin. A file larger than 64 MiB is an error.
func ReadFile(path string, stdin io.Reader) (Source, error) {
	source, input := Source{Name: path}, stdin
	if path == "-" {
		source.Name = "standard input"
	} else {
		f, err := os.Open(path)
		if err != nil {
			return source, wrap("read definitions", err)
		}
		defer func() { _ = f.Close() }()
		input = f
	}
	text, err := io.ReadAll(io.LimitReader(input, maxFileBytes+1))
	if err == nil && len(text) > maxFileBytes {
		err = fmt.Errorf("it has more than %d MiB; split it", maxFileBytes>>20)
	}
	if err == nil {
		text, err = textfile.Decode(text, "")
	}
	source.Text = text
	return source, wrap("read "+source.Name, err)
}

// wrap adds to an error what was being done; it returns nil for nil.
func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
