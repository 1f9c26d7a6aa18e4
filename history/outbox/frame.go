package outbox

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/zstd"
)

// kind is the kind of a frame.
type kind uint8

const (
	gap        kind = iota // never in a file: frames are missing here
	batch                  // a batch, not compressed
	compressed             // a batch, its data compressed with zstd
	happened               // the commit of the batch with this term and number has happened
	never                  // the commit of that batch has not happened, and will not happen
	unknown                // this process will not know the outcome of that commit
	kinds
)

// frame is a record of the log. In a file, with all numbers little-endian:
//
//	0  magic   4 bytes
//	4  crc     uint32, of everything after it
//	8  length  uint32, of the data
//	12 kind    1 byte, 3 of zero
//	16 term    int64
//	24 number  int64
//	32 total   int64: the number of rows ever appended to this log, including this frame's
//	40 time    int64: milliseconds since 1970
//	48 rows    uint32
//	52 data
type frame struct {
	kind         kind
	term, number int64
	total, time  int64
	rows         int
	data         []byte
}

const (
	magic      = "EJo1"
	headerSize = 52
	// maxData bounds the data of a frame, and maxRaw the uncompressed data. A frame that exceeds them is damaged.
	maxData = 256 << 20
	maxRaw  = 1 << 30
	// compressFrom is the smallest size in bytes of data that is compressed.
	compressFrom = 512
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// append appends the frame to buf.
func (f *frame) append(buf []byte) []byte {
	start := len(buf)
	buf = append(buf, magic...)
	buf = append(buf, 0, 0, 0, 0)
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(f.data)))
	buf = append(buf, byte(f.kind), 0, 0, 0)
	for _, n := range []int64{f.term, f.number, f.total, f.time} {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(n))
	}
	buf = binary.LittleEndian.AppendUint32(buf, uint32(f.rows))
	buf = append(buf, f.data...)
	binary.LittleEndian.PutUint32(buf[start+4:], crc32.Checksum(buf[start+8:], castagnoli))
	return buf
}

// size returns the size of the frame in a file, in bytes.
func (f *frame) size() int64 { return int64(headerSize + len(f.data)) }

// dataLength returns the length of the data after a header, or false if the header is not valid.
func dataLength(header []byte) (int, bool) {
	if len(header) < headerSize || string(header[:4]) != magic {
		return 0, false
	}
	n := binary.LittleEndian.Uint32(header[8:])
	return int(n), n <= maxData
}

// parse returns the frame at the beginning of b, or false if b does not begin with a whole, undamaged frame. The
// frame's data refers to b.
func parse(b []byte) (f frame, ok bool) {
	n, ok := dataLength(b)
	if !ok || len(b) < headerSize+n {
		return frame{}, false
	}
	if crc32.Checksum(b[8:headerSize+n], castagnoli) != binary.LittleEndian.Uint32(b[4:]) {
		return frame{}, false
	}
	number := func(offset int) int64 { return int64(binary.LittleEndian.Uint64(b[offset:])) }
	f = frame{kind: kind(b[12]), term: number(16), number: number(24), total: number(32), time: number(40),
		rows: int(binary.LittleEndian.Uint32(b[48:])), data: b[headerSize : headerSize+n]}
	return f, f.kind > 0 && f.kind < kinds
}

// codec compresses and unpacks data. Its methods may be called concurrently.
type codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func newCodec() (*codec, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("create the outbox's compression: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRaw))
	if err != nil {
		return nil, fmt.Errorf("create the outbox's compression: %w", err)
	}
	return &codec{encoder, decoder}, nil
}

// pack returns the kind and the data of a frame for a batch.
func (c *codec) pack(data []byte) (kind, []byte) {
	if len(data) < compressFrom {
		return batch, append([]byte(nil), data...) // the caller may change data while the frame waits
	}
	return compressed, c.encoder.EncodeAll(data, nil)
}

// unpack returns the data that was passed to pack. It does not refer to the frame's data.
func (c *codec) unpack(f frame) ([]byte, error) {
	if f.kind != compressed {
		return append([]byte(nil), f.data...), nil
	}
	return c.decoder.DecodeAll(f.data, nil)
}
