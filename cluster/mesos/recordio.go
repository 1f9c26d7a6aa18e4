package mesos

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// maxRecord is far above the size of 100,000 agents' offers. A larger length means that the stream is corrupt.
const maxRecord = 256 << 20

// records reads RecordIO: the record's length in decimal, a newline, then the record.
type records struct {
	in  *bufio.Reader
	buf []byte
}

func newRecords(r io.Reader) *records {
	return &records{in: bufio.NewReaderSize(r, 32<<10)}
}

// next returns the next record, which is valid until the following call. It returns io.EOF if the stream ends between
// two records.
func (r *records) next() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	if err != nil {
		if errors.Is(err, io.EOF) && len(line) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	n, err := strconv.ParseUint(string(line[:len(line)-1]), 10, 64)
	if err != nil || n > maxRecord {
		return nil, fmt.Errorf("bad record length %q in the stream", line)
	}
	if uint64(cap(r.buf)) < n {
		r.buf = make([]byte, n)
	}
	record := r.buf[:n]
	if _, err := io.ReadFull(r.in, record); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return record, nil
}
