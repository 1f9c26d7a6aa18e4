package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// limitError is the error of an exceeded limit. brokenError does not add a prefix to it.
type limitError string

func (e limitError) Error() string { return string(e) }

// brokenError adds to an error which part of the package is broken. It returns a limitError unchanged.
func brokenError(part string, err error) error {
	var limit limitError
	if errors.As(err, &limit) {
		return err
	}
	return fmt.Errorf("broken %s: %w", part, err)
}

// checkRatio returns an error if n unpacked bytes came from too few bytes of the archive.
func (t *target) checkRatio(n int64) error {
	if n > ratioThreshold && n/t.limits.Ratio > t.source.n {
		return limitError(fmt.Sprintf("the package unpacks to more than %d times its size", t.limits.Ratio))
	}
	return nil
}

// counter counts the bytes that are read from the archive, and fails when its context ends.
type counter struct {
	ctx context.Context
	r   io.Reader
	n   int64
}

func (c *counter) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// decoded limits the output of a decompressor, including output that is not written to a file. After an error it
// returns the same error again, because some decompressors report success when they are read after an error.
type decoded struct {
	t   *target
	r   io.Reader
	n   int64
	err error
}

// entryOverhead is how many bytes of an archive an entry may have in addition to its content: headers, long names,
// padding.
const entryOverhead = 4096

func (d *decoded) Read(p []byte) (n int, err error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.err = d.t.source.ctx.Err(); d.err != nil {
		return 0, d.err
	}
	n, d.err = d.r.Read(p)
	d.n += int64(n)
	if err := d.t.checkRatio(d.n); err != nil {
		d.err = err
	} else if l := d.t.limits; d.n > l.Bytes+int64(l.Files+4)*entryOverhead {
		d.err = limitError(fmt.Sprintf("the package unpacks to more than %d bytes", l.Bytes))
	}
	return n, d.err
}

// zeroCounter counts the zero bytes at the end of the data. A tar archive ends with blocks of them.
type zeroCounter struct {
	r     io.Reader
	zeros int
}

func (z *zeroCounter) Read(p []byte) (int, error) {
	n, err := z.r.Read(p)
	length := len(bytes.TrimRight(p[:n], "\x00"))
	if length > 0 {
		z.zeros = 0
	}
	z.zeros += n - length
	return n, err
}

// directoryReader limits the directory of a zip archive, because archive/zip holds the directory in memory. It counts
// the entries of the directory by the signature with which each of them begins.
type directoryReader struct {
	r           io.ReaderAt
	limits      Limits
	inDirectory bool // set while archive/zip reads the directory, before any file
	bytes       int64
	entries     int
	next        int64  // the offset at which the last read ended
	tail        []byte // the last bytes of that read: a signature may be split between two reads
}

const (
	zipSignature = "PK\x01\x02"
	maxDirectory = 64 << 20
)

// ReadAt implements io.ReaderAt. Only one goroutine may call it, as archive/zip does.
func (d *directoryReader) ReadAt(p []byte, offset int64) (int, error) {
	n, err := d.r.ReadAt(p, offset)
	if !d.inDirectory {
		return n, err
	}
	data := p[:n]
	if offset == d.next {
		data = append(d.tail, data...)
	} else {
		d.entries = 0 // the reads before were archive/zip's search for the directory's end
	}
	d.entries += bytes.Count(data, []byte(zipSignature))
	d.bytes += int64(n)
	d.next = offset + int64(n)
	d.tail = bytes.Clone(data[max(len(data)-len(zipSignature)+1, 0):])
	if d.entries > d.limits.Files {
		return 0, limitError(fmt.Sprintf("more than %d files and folders", d.limits.Files))
	}
	if d.bytes > maxDirectory {
		return 0, limitError(fmt.Sprintf("a zip directory of more than %d MiB", maxDirectory>>20))
	}
	return n, err
}
