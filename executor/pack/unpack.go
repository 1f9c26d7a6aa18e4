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

// unpackFile unpacks a file, from its beginning, into the folder root, which must be empty. It returns the format of
// the package. A file that is not an archive, or that is kept whole, gets the file name of its URL.
//
// Unpacking refuses entries that do not belong in a package: absolute paths and paths that lead up, relative links out
// of the package, devices and pipes, and encrypted entries. Absolute links are kept, and never followed. Modes become
// 0555 or 0444, so set-user-id bits are lost. If several entries have one name, the last entry wins, as with tar.
// After an error the folder may contain a part of the package.
func unpackFile(
	ctx context.Context, f *os.File, root *os.Root, source Source, limits Limits,
) (format string, err error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if info.Size() == 0 {
		return "", errors.New("the file is empty")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limits.Unpacking,
		fmt.Errorf("not unpacked within %v", limits.Unpacking))
	defer cancel()
	read := &counter{ctx: ctx, r: f}
	t := &target{root: root, limits: limits, source: read, folders: map[string]bool{}, whole: source.Whole}
	err = t.unpack(bufio.NewReaderSize(read, 64<<10), f, info.Size(), baseName(source.parsed()))
	if err == nil {
		err = t.checkLinks()
	}
	if err == nil && t.files == 0 {
		err = errors.New("the archive contains no file")
	}
	if cause := context.Cause(ctx); cause != nil {
		return t.format, cause
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: the archive was cut off, or sizes in it are wrong", err)
	}
	return t.format, err
}

func (t *target) unpack(r *bufio.Reader, f *os.File, size int64, name string) error {
	head, err := r.Peek(block)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if isZip(head) {
		t.source.n = size // zip reads at offsets, so the whole file counts
		t.format = "zip"
		if t.whole {
			return t.keepWhole(name, f, size)
		}
		return t.zip(f, size)
	}
	if isHTML(head) {
		return notPackage{"this is a web page, not a package", head}
	}
	plain, compression, closer, err := t.decompress(r)
	if err != nil {
		return err
	}
	defer closer()
	if t.whole && (compression != "" || isTar(plain)) {
		return t.keepWhole(name, f, size)
	}
	if isTar(plain) {
		t.format = "tar" + compressionNames[compression]
		return t.tar(plain, compression)
	}
	if compression != "" {
		if _, err := plain.Peek(block); err != nil && !errors.Is(err, io.EOF) {
			return brokenError(compression+" data", err)
		}
		return fmt.Errorf("%s data that contains no tar archive", compression)
	}
	if kind := unsupported(head); kind != "" {
		return fmt.Errorf("this is %s, which isn't supported; tar (plain, gz, bz2, xz, zst) and zip are", kind)
	}
	if isArchiveName(name) {
		return notPackage{"it is named like an archive, but is not one", head}
	}
	t.format = "file"
	return t.file(name, 0o755, plain)
}

// formatWhole is the format of an archive that is kept whole.
const formatWhole = "whole"

// keepWhole puts an archive into the package without unpacking it. Of a zip archive it checks the directory at the end.
func (t *target) keepWhole(name string, f io.ReaderAt, size int64) error {
	if t.format == "zip" {
		if _, err := zip.NewReader(&directoryReader{r: f, limits: t.limits, inDirectory: true}, size); err != nil {
			return brokenError("zip archive", err)
		}
	}
	t.format = formatWhole
	t.source.n = size
	return t.file(name, 0o755, io.NewSectionReader(f, 0, size))
}

// notPackage is the error of a file that is not a package. It says what the file is instead, and how it begins.
type notPackage struct {
	problem string
	head    []byte
}

func (n notPackage) Error() string { return fmt.Sprintf("%s; it begins with %.60q", n.problem, n.head) }

// tar unpacks the archive. It also reads the compressed data to its end, where the checksum is.
func (t *target) tar(plain io.Reader, compression string) error {
	ending := &zeroCounter{r: plain}
	archive := tar.NewReader(ending)
	for {
		ending.zeros = 0
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return brokenError(fmt.Sprintf("tar archive after %d entries", t.entries), err)
		}
		if err := t.tarEntry(header, archive); err != nil {
			return fmt.Errorf("entry %.200q: %w", header.Name, err)
		}
	}
	if ending.zeros < block {
		return brokenError(fmt.Sprintf("tar archive after %d entries", t.entries),
			fmt.Errorf("%w where its end mark should be", io.ErrUnexpectedEOF))
	}
	if compression == "" {
		return nil
	}
	if _, err := io.Copy(io.Discard, plain); err != nil {
		return brokenError(compression+" data after the tar archive", err)
	}
	return nil
}

func (t *target) tarEntry(header *tar.Header, content io.Reader) error {
	switch header.Typeflag {
	case tar.TypeXGlobalHeader:
		return t.count()
	case tar.TypeDir:
		return t.folder(header.Name)
	case tar.TypeReg, tar.TypeGNUSparse:
		return t.file(header.Name, os.FileMode(header.Mode), content)
	case tar.TypeSymlink:
		return t.symlink(header.Name, header.Linkname)
	case tar.TypeLink:
		return t.hardlink(header.Name, header.Linkname)
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return errors.New("a package must not contain devices or named pipes")
	default:
		return fmt.Errorf("entry of unknown type %q", header.Typeflag)
	}
}

func (t *target) zip(f io.ReaderAt, size int64) error {
	directory := &directoryReader{r: f, limits: t.limits, inDirectory: true}
	archive, err := zip.NewReader(directory, size)
	if err != nil {
		return brokenError("zip archive", err)
	}
	directory.inDirectory = false
	for _, entry := range archive.File {
		if err := t.zipEntry(entry); err != nil {
			return fmt.Errorf("entry %.200q: %w", entry.Name, err)
		}
	}
	return nil
}

func (t *target) zipEntry(entry *zip.File) error {
	// Some packers on Windows write their own path separator.
	name := strings.ReplaceAll(entry.Name, `\`, "/")
	mode := entry.Mode()
	switch {
	case entry.Flags&1 != 0:
		return errors.New("is encrypted, which packages must not be")
	case strings.HasSuffix(name, "/") || mode.IsDir():
		return t.folder(name)
	case mode&os.ModeType&^os.ModeSymlink != 0:
		return errors.New("a package must not contain devices or named pipes")
	}
	r, err := entry.Open()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	if mode&os.ModeSymlink == 0 {
		return t.file(name, mode, r)
	}
	link, err := io.ReadAll(io.LimitReader(r, 4097))
	if err != nil {
		return err
	}
	if len(link) > 4096 {
		return errors.New("link target of more than 4096 bytes")
	}
	return t.symlink(name, string(link))
}

// Root returns the folder of an unpacked package in which its commands run. If the package has a single folder and no
// other entries, and the command's first word is not a file in dir, that is this folder. Otherwise it is dir.
func Root(dir, command string) string {
	if command != "" && !path.IsAbs(command) {
		if _, err := os.Stat(path.Join(dir, command)); err == nil || Outside(dir, command) != "" {
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
			continue // added by macOS
		}
		if top != "" || !entry.IsDir() {
			return dir
		}
		top = name
	}
	return path.Join(dir, top)
}
