package pack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// fileVersion returns the version of a file on this machine.
func fileVersion(info fs.FileInfo) version {
	return version{LastModified: fmt.Sprintf("%d bytes, %s", info.Size(),
		info.ModTime().UTC().Format(time.RFC3339Nano))}
}

// wasReplaced reports whether a URL names a file on this machine that has another version now. It returns false for a
// file that can't be read, because that file may be about to be replaced.
func (d *downloader) wasReplaced(address string, known version) bool {
	u, err := parse(address)
	if err != nil || u.Scheme != "file" {
		return false
	}
	file, err := d.open(u.Path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	return err == nil && fileVersion(info) != known
}

// copyFile copies a file of this machine. The size and the time of the file are its version.
func (t *transfer) copyFile(ctx context.Context) error {
	file, err := t.open(t.url.Path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	t.version = fileVersion(info)
	if t.cached == t.version {
		return errUnchanged
	}
	t.total = info.Size()
	if t.total > t.limits.Download {
		return fmt.Errorf("the package has %d bytes; at most %d are allowed", t.total, t.limits.Download)
	}
	return t.copy(&counter{ctx: ctx, r: file}, func() {})
}
