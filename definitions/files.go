package definitions

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxFileBytes bounds a file: 100,000 jobs take less.
const maxFileBytes = 64 << 20

// Source is the text of one file, under the name that problems are reported with.
type Source struct {
	Name string
	Text []byte
}

// Sources reads files, folders with all that is below them (*.yaml and *.yml; what begins with a dot is left out), and, for "-", stdin. A
// path that can't be read is an error, and so is a folder without any such file: nothing would be what the files say.
func Sources(paths []string, stdin io.Reader) ([]Source, error) {
	var all []Source
	var failed []error
	for _, path := range paths {
		found, err := sourcesAt(path, stdin)
		all, failed = append(all, found...), append(failed, err)
	}
	return all, errors.Join(failed...)
}

func sourcesAt(path string, stdin io.Reader) ([]Source, error) {
	if path == "-" {
		text, err := readAll(stdin)
		return []Source{{"standard input", text}}, wrap("read standard input", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, wrap("read definitions", err)
	}
	if !info.IsDir() {
		text, err := readFile(path)
		return []Source{{path, text}}, err
	}
	var found []Source
	err = filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		hidden := at != path && strings.HasPrefix(entry.Name(), ".")
		switch {
		case err != nil:
			return err
		case hidden && entry.IsDir():
			return fs.SkipDir
		case hidden || entry.IsDir() || !isYAML(entry.Name()):
			return nil
		}
		text, err := readFile(at)
		found = append(found, Source{at, text})
		return err
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("there is no file *.yaml or *.yml below %s; name another folder", path)
	}
	return found, wrap("read definitions", err)
}

func isYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := readAll(f)
	return text, wrap("read "+path, err)
}

func readAll(from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxFileBytes+1))
	if err == nil && len(text) > maxFileBytes {
		return nil, fmt.Errorf("it has more than %d MiB; split it", maxFileBytes>>20)
	}
	return text, err
}

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
