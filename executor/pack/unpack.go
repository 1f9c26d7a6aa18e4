package pack

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// UnpackFile unpacks the file into the folder dir, which must exist and be empty.
// A file that is no archive is put there under the given name. Unpacking refuses what
// has no place in a package: paths that are absolute or lead up, links out of the
// package, devices and pipes, encrypted entries. Modes become 0755 or 0644, so set-user-id bits
// are lost. Of entries with one name the last one wins, as with tar. After an
// error the folder holds rubbish.
func UnpackFile(ctx context.Context, file, dir, name string, limits Limits) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return errors.New("the file is empty")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	source := &counter{ctx: ctx, r: f}
	t := &target{root: root, limits: limits, source: source, folders: map[string]bool{}}
	err = t.unpack(bufio.NewReaderSize(source, 64<<10), f, info.Size(), name)
	if err == nil {
		err = t.checkLinks()
	}
	if err == nil && t.files == 0 {
		err = errors.New("the archive holds no file")
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (t *target) unpack(r *bufio.Reader, f *os.File, size int64, name string) error {
	head, err := r.Peek(block)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if isZip(head) {
		t.source.n = size // zip jumps; the whole of it counts
		archive, err := zip.NewReader(f, size)
		if err != nil {
			return fmt.Errorf("broken zip archive: %w", err)
		}
		return t.zip(archive)
	}
	if isHTML(head) {
		return fmt.Errorf("this is a web page, no package; it begins with %.60q", head)
	}
	plain, compression, closer, err := decompress(r)
	if err != nil {
		return err
	}
	defer closer()
	if isTar(plain) {
		return t.tar(tar.NewReader(plain))
	}
	if compression != "" {
		if _, err := plain.Peek(block); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("broken %s data: %w", compression, err)
		}
		return fmt.Errorf("%s data that holds no tar archive", compression)
	}
	return t.file(name, 0o755, plain)
}

func (t *target) tar(archive *tar.Reader) error {
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("broken tar archive after %d entries: %w", t.entries, err)
		}
		switch header.Typeflag {
		case tar.TypeXGlobalHeader:
			continue
		case tar.TypeDir:
			err = t.folder(header.Name)
		case tar.TypeReg, tar.TypeGNUSparse:
			err = t.file(header.Name, os.FileMode(header.Mode), archive)
		case tar.TypeSymlink:
			err = t.symlink(header.Name, header.Linkname)
		case tar.TypeLink:
			err = t.hardlink(header.Name, header.Linkname)
		case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
			err = errors.New("devices and named pipes have no place in a package")
		default:
			err = fmt.Errorf("entry of unknown type %q", header.Typeflag)
		}
		if err != nil {
			return fmt.Errorf("entry %.200q: %w", header.Name, err)
		}
	}
}

func (t *target) zip(archive *zip.Reader) error {
	for _, entry := range archive.File {
		if err := t.zipEntry(entry); err != nil {
			return fmt.Errorf("entry %.200q: %w", entry.Name, err)
		}
	}
	return nil
}

func (t *target) zipEntry(entry *zip.File) error {
	// Some packers on Windows write their own separator.
	name := strings.ReplaceAll(entry.Name, `\`, "/")
	mode := entry.Mode()
	switch {
	case entry.Flags&1 != 0:
		return errors.New("is encrypted; packages can't be")
	case strings.HasSuffix(name, "/") || mode.IsDir():
		return t.folder(name)
	case mode&os.ModeSymlink != 0:
		r, err := entry.Open()
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }()
		link, err := io.ReadAll(io.LimitReader(r, 4097))
		if err != nil {
			return err
		}
		if len(link) > 4096 {
			return errors.New("link of more than 4096 bytes")
		}
		return t.symlink(name, string(link))
	case mode&os.ModeType != 0:
		return errors.New("devices and named pipes have no place in a package")
	}
	r, err := entry.Open()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	return t.file(name, mode, r)
}

// Root is the folder of an unpacked package in which its commands run: if the command's
// first word isn't a file there, and the package is one folder, that folder.
func Root(dir, command string) string {
	if command != "" && !path.IsAbs(command) {
		if _, err := os.Stat(path.Join(dir, command)); err == nil {
			return dir
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return dir
	}
	top := ""
	for _, entry := range entries {
		name := entry.Name()
		if name == "__MACOSX" || name == ".DS_Store" || strings.HasPrefix(name, "._") {
			continue // what macOS adds
		}
		if top != "" || !entry.IsDir() {
			return dir
		}
		top = name
	}
	return path.Join(dir, top)
}
