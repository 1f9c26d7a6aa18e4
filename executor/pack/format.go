package pack

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// block is the size of tar's header.
const block = 512

// maxWindow bounds the memory that a decoder may ask for.
const maxWindow = 128 << 20

var compressions = []struct {
	name  string
	magic string
	open  func(io.Reader) (io.Reader, func(), error)
}{
	{"gzip", "\x1f\x8b", func(r io.Reader) (io.Reader, func(), error) {
		d, err := gzip.NewReader(r)
		return d, func() {}, err
	}},
	{"bzip2", "BZh", func(r io.Reader) (io.Reader, func(), error) {
		return bzip2.NewReader(r), func() {}, nil
	}},
	{"xz", "\xfd7zXZ\x00", func(r io.Reader) (io.Reader, func(), error) {
		d, err := xz.ReaderConfig{DictCap: 1 << 16}.NewReader(r)
		return d, func() {}, err
	}},
	{"zstd", "\x28\xb5\x2f\xfd", func(r io.Reader) (io.Reader, func(), error) {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return d, d.Close, nil
	}},
}

// decompress looks at the first bytes of r and undoes what compression they show.
// The name is empty if there is none.
func decompress(r *bufio.Reader) (plain *bufio.Reader, name string, closer func(), err error) {
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
			return nil, c.name, nil, fmt.Errorf("broken %s data: %w", c.name, err)
		}
		return bufio.NewReaderSize(d, 64<<10), c.name, closer, nil
	}
	return r, "", func() {}, nil
}

// isTar tells whether r begins with a tar header, of whatever age: its checksum must be right.
func isTar(r *bufio.Reader) bool {
	head, err := r.Peek(block)
	if err != nil {
		return false
	}
	field := bytes.Trim(head[148:156], " \x00")
	want, err := strconv.ParseInt(string(field), 8, 64)
	if err != nil {
		// The end mark of an archive without entries.
		return bytes.Equal(head, make([]byte, block))
	}
	sum := int64(8 * ' ')
	for i, b := range head {
		if i < 148 || i >= 156 {
			sum += int64(b)
		}
	}
	return sum == want
}

func isZip(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06"))
}

// isHTML finds the error pages that servers send with status 200.
func isHTML(head []byte) bool {
	head = bytes.ToLower(bytes.TrimLeft(head, " \t\r\n\xef\xbb\xbf"))
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html"))
}
