package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// limitError is the error of an exceeded limit. The prefix "broken archive" is not added to it.
type limitError string

func (e limitError) Error() string { return string(e) }

// brokenError adds to an error which data is broken, unless it is the error of a limit.
func brokenError(what string, err error) error {
	var limit limitError
	if errors.As(err, &limit) {
		return err
	}
	return fmt.Errorf("broken %s: %w", what, err)
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

// decoded is the output of a decompressor, which is limited even if no file is written from it. It repeats its
// error, because some decompressors report success when they are read again after an error.
type decoded struct {
	t   *target
	r   io.Reader
	n   int64
	err error
}

// entryOverhead is how many bytes of an archive may belong to a file without being its content: headers, long names,
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

func (e *zeroCounter) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	rest := len(bytes.TrimRight(p[:n], "\x00"))
	if rest > 0 {
		e.zeros = 0
	}
	e.zeros += n - rest
	return n, err
}

// directoryReader limits the directory of a zip archive, which is held in memory. It counts the directory's entries
// by the signature with which each begins.
type directoryReader struct {
	r       io.ReaderAt
	limits  Limits
	opening bool
	bytes   int64
	entries int
	next    int64  // end of the last read
	tail    []byte // its last bytes
}

const (
	zipSignature = "PK\x01\x02"
	maxDirectory = 64 << 20
)

// ReadAt implements io.ReaderAt. Only one goroutine may call it, as archive/zip does.
func (d *directoryReader) ReadAt(p []byte, offset int64) (int, error) {
	n, err := d.r.ReadAt(p, offset)
	if !d.opening {
		return n, err
	}
	seen := p[:n]
	if offset == d.next {
		seen = append(d.tail, seen...)
	} else {
		d.entries = 0 // archive/zip searched for the directory's end until here
	}
	d.entries += bytes.Count(seen, []byte(zipSignature))
	d.bytes += int64(n)
	d.next = offset + int64(n)
	d.tail = bytes.Clone(seen[max(len(seen)-len(zipSignature)+1, 0):])
	if d.entries > d.limits.Files {
		return 0, limitError(fmt.Sprintf("more than %d files and folders", d.limits.Files))
	}
	if d.bytes > maxDirectory {
		return 0, limitError(fmt.Sprintf("a zip directory of more than %d MiB", maxDirectory>>20))
	}
	return n, err
}
