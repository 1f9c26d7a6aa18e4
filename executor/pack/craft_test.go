package pack_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"
)

// This file builds archives that no regular program writes.

// rawEntry is a tar header whose fields are written unchecked, including its size.
type rawEntry struct {
	name    string
	kind    byte
	size    string // the octal field; that of content if empty
	content string
}

func rawTar(entries ...rawEntry) []byte {
	var all bytes.Buffer
	for _, e := range entries {
		all.Write(rawHeader(e))
		all.WriteString(e.content)
		all.Write(make([]byte, (512-len(e.content)%512)%512))
	}
	all.Write(make([]byte, 1024))
	return all.Bytes()
}

func rawHeader(e rawEntry) []byte {
	header := make([]byte, 512)
	copy(header, e.name)
	copy(header[100:], "0000644\x000000000\x000000000\x00")
	size := e.size
	if size == "" {
		size = fmt.Sprintf("%011o\x00", len(e.content))
	}
	copy(header[124:136], size)
	copy(header[136:], "00000000000\x00        ")
	header[156] = e.kind
	copy(header[257:], "ustar\x0000")
	sum := 0
	for _, b := range header {
		sum += int(b)
	}
	copy(header[148:], fmt.Sprintf("%06o\x00 ", sum))
	return header
}

// paxTar returns an archive of one file. Its name is in the PAX record or, if record is empty, is not UTF-8.
func paxTar(t testing.TB, record string) []byte {
	t.Helper()
	if record == "" {
		return rawTar(rawEntry{name: "\xff\xfe.sh", kind: '0', content: "x"})
	}
	line := fmt.Sprintf("%d %s", len(record)+3, record)
	if len(line) != len(record)+3 {
		t.Fatalf("record of %d bytes", len(record))
	}
	return rawTar(rawEntry{name: "PaxHeaders/x", kind: 'x', content: line},
		rawEntry{name: "x", kind: '0', content: "x"})
}

func tarFormat(t testing.TB, format tar.Format, name string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: 1, Format: format,
		ModTime: time.Unix(1, 0)}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "x"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func zipMode(t testing.TB, mode fs.FileMode) []byte {
	t.Helper()
	header := &zip.FileHeader{Name: "e"}
	header.SetMode(mode)
	return zipRaw(t, header, "x")
}

// zipRaw returns an archive of one stored entry with an arbitrary header.
func zipRaw(t testing.TB, header *zip.FileHeader, content string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := zip.NewWriter(&buffer)
	if header.CRC32 == 0 {
		header.CRC32 = crc32.ChecksumIEEE([]byte(content))
	}
	if header.UncompressedSize64 == 0 {
		header.UncompressedSize64 = uint64(len(content))
	}
	if header.CompressedSize64 == 0 {
		header.CompressedSize64 = uint64(len(content))
	}
	f, err := w.CreateRaw(header)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// zipDirectory repeats the only record of a zip's directory, so that many entries share one content.
func zipDirectory(t testing.TB, archive []byte, times int) []byte {
	t.Helper()
	begin, end := bytes.Index(archive, []byte("PK\x01\x02")), bytes.Index(archive, []byte("PK\x05\x06"))
	if begin < 0 || end < begin {
		t.Fatal("no directory")
	}
	directory := bytes.Repeat(archive[begin:end], times)
	tail := bytes.Clone(archive[end:])
	binary.LittleEndian.PutUint16(tail[8:], uint16(times))
	binary.LittleEndian.PutUint16(tail[10:], uint16(times))
	binary.LittleEndian.PutUint32(tail[12:], uint32(len(directory)))
	return bytes.Join([][]byte{archive[:begin], directory, tail}, nil)
}

// megabytes is the size of a bomb, an archive of one file of zeros.
const megabytes = 68

// bombHeader returns the first block of the bomb's tar archive.
func bombHeader() []byte {
	return rawHeader(rawEntry{name: "a", kind: '0', size: fmt.Sprintf("%011o\x00", megabytes<<20)})
}

// bomb compresses the archive in pieces; all of these formats allow concatenation.
func bomb(t testing.TB, open func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	million := compressed(t, make([]byte, 1<<20), open)
	return append(compressed(t, bombHeader(), open), bytes.Repeat(million, megabytes+1)...)
}

// The bzip2 data of a header like bombHeader, for 80 MB, and of a megabyte of zeros; Go has no writer for bzip2.
const (
	bzipHeader  = "QlpoOTFBWSZTWT37GIQAAB9bgMyAQABvAAAA4AAeAAgAIABUQTIaBkwMKmm0mNEaTUMG2r1hWiCgF4wWgRLGUc0Eq7Yoefb5M4oXckU4UJA9+xiE"
	bzipMillion = "QlpoOTFBWSZTWThXHOUACAhAAMAEAAggADDMBSmmCAbEIB4u5IpwoSBwrjnK"
)

func bzipBomb(t testing.TB) []byte {
	t.Helper()
	return append(decode(t, bzipHeader), bytes.Repeat(decode(t, bzipMillion), megabytes+1)...)
}

func decode(t testing.TB, text string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// sparse returns an archive that claims a sparse file of a terabyte without data, in the format of GNU tar 1.0.
func sparse(t testing.TB) []byte {
	t.Helper()
	var records strings.Builder
	for _, record := range []string{"GNU.sparse.major=1\n", "GNU.sparse.minor=0\n", "GNU.sparse.name=huge\n",
		"GNU.sparse.realsize=1099511627776\n"} {
		n := len(record) + 3
		fmt.Fprintf(&records, "%d %s", n, record)
	}
	fragments := "1\n1099511627776\n0\n"
	return rawTar(
		rawEntry{name: "PaxHeaders/x", kind: 'x', content: records.String()},
		rawEntry{name: "x", kind: '0', content: fragments + strings.Repeat("\x00", 512-len(fragments))},
	)
}

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o644) }
