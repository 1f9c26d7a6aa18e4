package pack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/elasticjob-go/elasticjob/internal/netproblem"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Contents describes a package, as far as Inspect could read it.
type Contents struct {
	// Size and SHA256 describe the fetched file.
	Size   int64
	SHA256 string
	// Format is tar, tar.gz, tar.bz2, tar.xz, tar.zst or zip, or file for a package that is not an archive or is kept
	// whole.
	Format string
	// Files are the first files, sorted by name, and Total is the number of all files.
	Files []File
	Total int
	// Dir is the folder with the unpacked files, below the folder that was given to Inspect.
	Dir string
}

// File is one file of a package.
type File struct {
	Name       string
	Size       int64
	Executable bool
}

// Inspect fetches and unpacks a package as a Store does, in an empty folder, which the caller must remove.
// Contents.Files gets at most maxFiles files. Inspect does not compare the checksum. The error is an [*Error], which
// contains no part of the package's content, or the context's cause.
func Inspect(ctx context.Context, source Source, folder string, maxFiles int, limits Limits,
	open func(path string) (*os.File, error)) (c Contents, err error) {
	u, err := parse(source.URL)
	if err != nil {
		return c, &Error{Phase: wire.PhaseFetch, URL: source.URL, Err: err}
	}
	defer func() { err = explain(ctx, source, err) }()
	file, err := os.OpenFile(filepath.Join(folder, "download"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return c, err
	}
	defer func() { _ = file.Close() }()
	d := newDownloader(limits, open, slog.New(slog.DiscardHandler))
	defer d.client.CloseIdleConnections()
	sum, _, err := d.get(ctx, u, file, version{})
	if err != nil {
		return c, withoutAddresses(err)
	}
	c.SHA256 = sum
	if info, err := file.Stat(); err == nil {
		c.Size = info.Size()
	}
	c.Dir = filepath.Join(folder, "package")
	if err := os.Mkdir(c.Dir, 0o700); err != nil {
		return c, err
	}
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return c, err
	}
	defer func() { _ = root.Close() }()
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return c, err
	}
	defer debug.FreeOSMemory() // as in Store.unpack
	c.Format, err = unpackFile(ctx, file, root, source, limits)
	var other notPackage
	if errors.As(err, &other) {
		err = errors.New(other.problem)
	}
	if err != nil {
		return c, unpackError{err}
	}
	if c.Format == formatWhole {
		c.Format = "file"
	}
	return c, c.list(root, maxFiles)
}

// withoutAddresses removes information about the network from an error of a fetch. A package is inspected in the
// network of the scheduler's servers, for any user who names a URL.
func withoutAddresses(err error) error {
	text := netproblem.Text(err)
	if text == "" {
		return err
	}
	var noAnswer unanswered
	if errors.As(err, &noAnswer) {
		return unanswered{errors.New(text), noAnswer.reached}
	}
	return errors.New(text)
}

// list lists the files. A link counts as its target, if that is in the package.
func (c *Contents) list(root *os.Root, maxFiles int) error {
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("list the package: %w", err)
		}
		if d.IsDir() {
			return nil
		}
		if c.Total++; c.Total > maxFiles {
			return nil
		}
		file := File{Name: name}
		if info, err := root.Stat(name); err == nil && info.Mode().IsRegular() {
			file.Size, file.Executable = info.Size(), info.Mode()&0o111 != 0
		}
		c.Files = append(c.Files, file)
		return nil
	})
}
