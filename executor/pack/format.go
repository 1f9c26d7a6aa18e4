package pack

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// block is the size of a tar header.
const block = 512

// maxWindow limits the memory that an archive may request from a decoder.
const maxWindow = 128 << 20

var compressions = []struct {
	name  string
	magic string
	open  func(*bufio.Reader) (io.Reader, func(), error)
}{
	{"gzip", "\x1f\x8b", func(r *bufio.Reader) (io.Reader, func(), error) {
		d, err := gzip.NewReader(r)
		return d, func() {}, err
	}},
	{"bzip2", "BZh", func(r *bufio.Reader) (io.Reader, func(), error) {
		return bzip2.NewReader(r), func() {}, nil
	}},
	{"xz", "\xfd7zXZ\x00", func(r *bufio.Reader) (io.Reader, func(), error) {
		if err := checkWindow(r); err != nil {
			return nil, nil, err
		}
		d, err := xz.ReaderConfig{DictCap: 1 << 16}.NewReader(r)
		return d, func() {}, err
	}},
	{"zstd", "\x28\xb5\x2f\xfd", func(r *bufio.Reader) (io.Reader, func(), error) {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return d, d.Close, nil
	}},
}

// compressionNames are the suffixes of archive names, by compression.
var compressionNames = map[string]string{"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}

// decompress detects the compression of r by its first bytes. It returns a reader of the plain data and the name of the
// compression, or "" for plain data.
func (t *target) decompress(r *bufio.Reader) (plain *bufio.Reader, name string, closer func(), err error) {
	head, err := r.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, "", nil, err
	}
	for _, c := range compressions {
		if !bytes.HasPrefix(head, []byte(c.magic)) {
			continue
		}
		d, closer, err := c.open(r)
		if err != nil {
			return nil, c.name, nil, brokenError(c.name+" data", err)
		}
		return bufio.NewReaderSize(&decoded{t: t, r: d}, 64<<10), c.name, closer, nil
	}
	return r, "", func() {}, nil
}

// isTar reports whether r begins with a tar header of any version. It judges by the header's checksum.
func isTar(r *bufio.Reader) bool {
	head, err := r.Peek(block)
	if err != nil {
		return false
	}
	field := bytes.Trim(head[148:156], " \x00")
	want, err := strconv.ParseInt(string(field), 8, 64)
	if err != nil {
		return bytes.Equal(head, make([]byte, block)) // the end mark of an archive without entries
	}
	sum := int64(8 * ' ')
	for i, b := range head {
		if i < 148 || i >= 156 {
			sum += int64(b)
		}
	}
	return sum == want
}

// checkWindow returns an error if the first block of an xz stream requests too much memory. Later blocks may request
// more, but the decoder then allocates only the memory that they fill.
func checkWindow(r *bufio.Reader) error {
	const streamHeader = 12
	head, err := r.Peek(streamHeader + 1)
	if err != nil || head[streamHeader] == 0 {
		return nil // the decoder reports that the stream is truncated or has no block
	}
	head, err = r.Peek(streamHeader + 4*(int(head[streamHeader])+1))
	if err != nil {
		return nil
	}
	flags, fields := head[streamHeader+1], head[streamHeader+2:]
	for _, present := range []byte{0x40, 0x80} { // the sizes before and after decompression
		if flags&present != 0 {
			_, n := binary.Uvarint(fields)
			fields = fields[max(n, 0):]
		}
	}
	isLZMA2 := len(fields) >= 3 && fields[0] == 0x21 && fields[1] == 1 // the filter, with one byte of properties
	if !isLZMA2 {
		return nil
	}
	if bits := fields[2]; bits > 40 || uint64(2|bits&1)<<(bits/2+11) > maxWindow {
		return limitError(fmt.Sprintf("it requires more memory than the allowed %d MiB (xz -9 requires 64)",
			maxWindow>>20))
	}
	return nil
}

// unsupported returns the name of an archive format that is not supported, by the first bytes of a file, or "".
func unsupported(head []byte) string {
	for _, f := range []struct{ name, magic string }{
		{"a 7z archive", "7z\xbc\xaf\x27\x1c"}, {"a rar archive", "Rar!\x1a\x07"}, {"lz4 data", "\x04\x22\x4d\x18"},
		{"lzip data", "LZIP"}, {"data of compress (.Z)", "\x1f\x9d"}, {"an ar archive or Debian package", "!<arch>\n"},
		{"an RPM package", "\xed\xab\xee\xdb"}, {"a cpio archive", "070701"}, {"a cpio archive", "070707"},
	} {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.name
		}
	}
	return ""
}

// isArchiveName reports whether a file name is that of an archive.
func isArchiveName(name string) bool {
	endings := []string{".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tzst", ".zip", ".gz", ".bz2", ".xz", ".zst"}
	name = strings.ToLower(name)
	return slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(name, ending) })
}

func isZip(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06"))
}

// isHTML reports whether a file is a web page. Some servers send error pages with status 200.
func isHTML(head []byte) bool {
	head = bytes.ToLower(bytes.TrimLeft(head, " \t\r\n\xef\xbb\xbf"))
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html"))
}
