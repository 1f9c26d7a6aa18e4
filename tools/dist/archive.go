package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// archive is a tar.gz that contains one folder with its name. To be reproducible, its files are sorted by name and
// have one time and no owner.
type archive struct {
	name  string
	time  time.Time
	files []entry
}

// entry is a file in an archive, with the content of a file on disk or a text.
type entry struct {
	name, path string
	content    []byte
	mode       int64
}

func (a *archive) file(name, path string, mode int64) {
	a.files = append(a.files, entry{name: name, path: path, mode: mode})
}

func (a *archive) text(name string, content []byte) {
	a.files = append(a.files, entry{name: name, content: content, mode: 0o644})
}

func (a *archive) write(path string) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	packed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return errors.Join(err, out.Close())
	}
	files := tar.NewWriter(packed)
	defer func() { err = errors.Join(err, files.Close(), packed.Close(), out.Close()) }()
	slices.SortFunc(a.files, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	for _, f := range a.files {
		if f.path != "" {
			if f.content, err = os.ReadFile(f.path); err != nil {
				return err
			}
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: a.name + "/" + f.name, Size: int64(len(f.content)),
			Mode: f.mode, ModTime: a.time, Format: tar.FormatPAX}
		if err := files.WriteHeader(header); err != nil {
			return fmt.Errorf("pack %s: %w", f.name, err)
		}
		if _, err := files.Write(f.content); err != nil {
			return fmt.Errorf("pack %s: %w", f.name, err)
		}
	}
	return nil
}
