package fetcher

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/ulikunitz/xz"
)

// unpack unpacks the sandbox's file name into the sandbox's top when its suffix is
// one that Mesos unpacks; other files stay as they are. The archive stays.
func (f *Fetcher) unpack(ctx context.Context, root *os.Root, name string) error {
	has := func(suffixes ...string) bool {
		for _, suffix := range suffixes {
			if strings.HasSuffix(name, suffix) {
				return true
			}
		}
		return false
	}
	var open func(io.Reader) (io.Reader, error)
	switch {
	case has(".tar"):
		open = func(r io.Reader) (io.Reader, error) { return r, nil }
	case has(".tgz", ".tar.gz"):
		open = func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }
	case has(".tbz2", ".tar.bz2"):
		open = func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }
	case has(".txz", ".tar.xz"):
		open = func(r io.Reader) (io.Reader, error) { return xz.NewReader(r) }
	case has(".zip", ".gz"):
	default:
		return nil
	}
	file, err := root.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	u := &unpacker{ctx: ctx, root: root, bytes: f.options.UnpackedBytes, files: f.options.UnpackedFiles}
	switch {
	case open != nil:
		var content io.Reader
		if content, err = open(file); err == nil {
			err = u.tar(content)
		}
	case has(".zip"):
		err = u.zip(file)
	default:
		err = u.gunzip(file, strings.TrimSuffix(path.Base(name), ".gz"))
	}
	if err != nil {
		return fmt.Errorf("unpack %q: %w", name, err)
	}
	return nil
}

// unpacker writes the entries of one archive, within bounds. Everything goes
// through os.Root: names with "..", absolute names and ways through links that
// lead out are refused.
type unpacker struct {
	ctx   context.Context
	root  *os.Root
	bytes int64
	files int
}

func (u *unpacker) tar(r io.Reader) error {
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch header.Typeflag {
		case tar.TypeDir:
			err = u.folder(header.Name)
		case tar.TypeReg:
			err = u.file(header.Name, header.FileInfo().Mode(), archive)
		case tar.TypeSymlink:
			err = u.link(header.Name, header.Linkname, u.root.Symlink)
		case tar.TypeLink:
			err = u.link(header.Name, header.Linkname, u.root.Link)
		case tar.TypeXGlobalHeader:
		default:
			err = fmt.Errorf("entry is of a kind (%q) that is not unpacked", header.Typeflag)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", header.Name, err)
		}
	}
}

func (u *unpacker) zip(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	archive, err := zip.NewReader(file, info.Size())
	if err != nil {
		return err
	}
	for _, entry := range archive.File {
		if err := u.zipEntry(entry); err != nil {
			return fmt.Errorf("%q: %w", entry.Name, err)
		}
	}
	return nil
}

func (u *unpacker) zipEntry(entry *zip.File) error {
	if entry.Mode().IsDir() {
		return u.folder(entry.Name)
	}
	content, err := entry.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	if entry.Mode()&os.ModeSymlink == 0 {
		return u.file(entry.Name, entry.Mode(), content)
	}
	var target bytes.Buffer
	if _, err := io.CopyN(&target, content, 4096); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return u.link(entry.Name, target.String(), u.root.Symlink)
}

func (u *unpacker) gunzip(file io.Reader, name string) error {
	content, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	return u.file(name, 0o644, content)
}

func (u *unpacker) folder(name string) error {
	name = path.Clean(name)
	if err := u.count(name); err != nil {
		return err
	}
	return u.root.MkdirAll(name, 0o755)
}

func (u *unpacker) file(name string, mode os.FileMode, content io.Reader) error {
	name, err := u.place(name)
	if err != nil {
		return err
	}
	limited := readerFunc(func(p []byte) (int, error) {
		if err := u.ctx.Err(); err != nil {
			return 0, err
		}
		n, err := content.Read(p)
		if u.bytes -= int64(n); u.bytes < 0 {
			return 0, errors.New("archive unpacks to more bytes than allowed")
		}
		return n, err
	})
	// Owner's read and write bits always: the sandbox must stay removable and readable.
	return write(u.ctx, u.root, name, mode.Perm()&0o755|0o600, func(_ context.Context, to io.Writer) error {
		_, err := io.Copy(to, limited)
		return err
	})
}

func (u *unpacker) link(name, target string, make func(target, name string) error) error {
	name, err := u.place(name)
	if err != nil {
		return err
	}
	if err := u.root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return make(target, name)
}

// place checks name and makes the folders above it.
func (u *unpacker) place(name string) (string, error) {
	name = path.Clean(name)
	if err := u.count(name); err != nil {
		return "", err
	}
	if dir := path.Dir(name); dir != "." {
		return name, u.root.MkdirAll(dir, 0o755)
	}
	return name, nil
}

func (u *unpacker) count(name string) error {
	if !filepath.IsLocal(name) {
		return errors.New("name leads out of the sandbox")
	}
	if u.files--; u.files < 0 {
		return errors.New("archive has more entries than allowed")
	}
	return u.ctx.Err()
}
