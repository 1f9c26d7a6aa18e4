package pack_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/elasticjob-go/elasticjob/executor/pack"
)

func xzip(w io.Writer) (io.WriteCloser, error) {
	return xz.WriterConfig{DictCap: 1 << 20}.NewWriter(w)
}

func zst(w io.Writer) (io.WriteCloser, error) {
	return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
}

// TestHostileSizes: archives that unpack to much more than their size, or claim to.
func TestHostileSizes(t *testing.T) {
	t.Parallel()
	many := func(n int) []byte { // entries, written in pieces of 10,000
		var piece bytes.Buffer
		for i := range 10_000 {
			piece.Write(rawHeader(rawEntry{name: fmt.Sprintf("d%d/", i%100), kind: '5'}))
		}
		return bytes.Repeat(compressed(t, piece.Bytes(), gz), n/10_000)
	}
	global := compressed(t, rawHeader(rawEntry{name: "g", kind: 'g'}), gz)
	attributes := append(rawHeader(rawEntry{name: "g", kind: 'g', size: fmt.Sprintf("%011o\x00", 1<<20)}),
		[]byte("1048576 comment="+strings.Repeat("x", 1<<20-17)+"\n")...)
	for _, h := range []hostile{
		{name: "more bytes than allowed", data: tarOf(t, entry{name: "a", content: strings.Repeat("x", 1001)}), limits: pack.Limits{Bytes: 1000}, want: "more than 1000 bytes"},
		{name: "more bytes in several files",
			data: tarOf(t, entry{name: "a", content: strings.Repeat("x", 600)},
				entry{name: "a", content: strings.Repeat("y", 600)}),
			limits: pack.Limits{Bytes: 1000}, want: "more than 1000 bytes"},
		{name: "more files than allowed", data: tarOf(t, plain("1"), plain("2"), plain("3"), plain("4")), limits: pack.Limits{Files: 3}, want: "more than 3 files"},
		{name: "more folders than allowed", data: tarOf(t, plain("a/b/c/d"), plain("e/f/g/h")), limits: pack.Limits{Files: 7}, want: "more than 7 files"},
		{name: "one file often", data: tarOf(t, plain("1"), plain("1"), plain("1"), plain("1")), limits: pack.Limits{Files: 3}, want: "more than 3 files"},
		{name: "hard links", data: tarOf(t, plain("1"), hardlink("2", "1"), hardlink("3", "1"), hardlink("4", "1")), limits: pack.Limits{Files: 3}, want: "more than 3 files"},
		{name: "a million entries", file: "p.tar.gz", data: many(1_000_000), limits: pack.Limits{Files: 20_000}, want: "more than 20000 files"},
		{name: "a million global headers", file: "p.tgz", data: bytes.Repeat(global, 30_000), limits: pack.Limits{Files: 20_000}, want: "more than 20000 files"},
		{name: "zip entries", file: "p.zip", data: zipDirectory(t, zipOf(t, plain("a")), 30_000), limits: pack.Limits{Files: 20_000}, want: "zip: more than 20000 files"},
		{name: "gzip bomb", file: "p.tar.gz", data: bomb(t, gz), want: "more than 250 times its size"},
		{name: "bzip2 bomb", file: "p.tar.bz2", data: bzipBomb(t), want: "more than 250 times its size"},
		{name: "xz bomb", file: "p.tar.xz", data: bomb(t, xzip), want: "more than 250 times its size"},
		{name: "zstd bomb", file: "p.tar.zst", data: bomb(t, zst), want: "more than 250 times its size"},
		{name: "zip bomb", file: "p.zip", data: zipOf(t, entry{name: "a", content: strings.Repeat("\x00", megabytes<<20)}), want: "more than 250 times its size"},
		{name: "zip bomb of entries that overlap", file: "p.zip", data: zipDirectory(t, zipOf(t, entry{name: "a", content: strings.Repeat("\x00", 1<<20)}), megabytes), want: "more than 250 times its size"},
		{name: "bomb within the ratio", file: "p.tar.gz", data: bomb(t, gz), limits: pack.Limits{Bytes: 10 << 20, Ratio: 1 << 40}, want: "more than 10485760 bytes"},
		{name: "bomb behind the archive", file: "p.tar.gz", data: append(compressed(t, tarOf(t, plain("a")), gz), bomb(t, gz)...), want: "more than 250 times its size"},
		{name: "bomb of attributes", file: "p.tar.gz", data: bytes.Repeat(compressed(t, attributes, gz), megabytes), want: "more than 250 times its size"},
		{name: "bomb that is no archive", file: "p.gz", data: bytes.Repeat(compressed(t, bytes.Repeat([]byte("x"), 1<<20), gz), megabytes), want: "contains no tar"},
		{name: "gzip in gzip", file: "p.tar.gz", data: compressed(t, compressed(t, compressed(t, tarOf(t, plain("a")), gz), gz), gz), want: "gzip data that contains no tar"},
		{name: "zip in gzip", file: "p.tgz", data: compressed(t, zipOf(t, plain("a")), gz), want: "gzip data that contains no tar"},
		{name: "sparse file", data: sparse(t), want: "more than 250 times its size"},
		{name: "time", file: "p.tar.gz", data: bomb(t, gz), limits: pack.Limits{Ratio: 1 << 40, Unpacking: 5 * time.Millisecond}, want: "not unpacked within 5ms"},
		{name: "memory for xz", file: "p.tar.xz", data: xzDictionary(t, 40), want: "more memory than the allowed 128 MiB"},
		{name: "memory for zstd", file: "p.tar.zst", data: append([]byte("\x28\xb5\x2f\xfd\x00\xb0"), make([]byte, 600)...), want: "window size exceeded"},
	} {
		t.Run(h.name, h.run)
	}
}

// xzDictionary changes the memory that the first block requests.
func xzDictionary(t testing.TB, bits byte) []byte {
	t.Helper()
	data := compressed(t, tarOf(t, plain("a")), xzip)
	at := bytes.Index(data, []byte{0x21, 1})
	if at < 0 || at > 40 {
		t.Fatalf("no filter in % x", data[:40])
	}
	data[at+2] = bits
	return data
}

// TestBroken: archives that are damaged, or are not what their name says.
func TestBroken(t *testing.T) {
	t.Parallel()
	good := tarOf(t, plain("a"))
	flipped := compressed(t, tarOf(t, entry{name: "a", content: strings.Repeat("abc", 1000)}), gz)
	flipped[len(flipped)-6] ^= 1 // in the checksum
	for _, h := range []hostile{
		{name: "empty file", data: nil, want: "file is empty"},
		{name: "empty tar", data: tarOf(t), want: "contains no file"},
		{name: "empty tar.gz", file: "p.tgz", data: compressed(t, tarOf(t), gz), want: "contains no file"},
		{name: "empty gzip", file: "p.tgz", data: compressed(t, nil, gz), want: "contains no tar"},
		{name: "empty zip", file: "p.zip", data: zipOf(t), want: "contains no file"},
		{name: "web page", data: []byte("\n<!doctype HTML><html>404"), want: "web page"},
		{name: "text", data: []byte(`{"error":"not found"}`), want: `named like an archive, but is not one; it begins with "{\"error`},
		{name: "random bytes", file: "p.zip", data: bytes.Repeat([]byte{7, 200, 3}, 400), want: "named like an archive"},
		{name: "7z", file: "p.tar.gz", data: []byte("7z\xbc\xaf\x27\x1c\x00\x04 and so on"), want: "7z archive, which isn't supported"},
		{name: "rar", file: "p.zip", data: []byte("Rar!\x1a\x07\x01\x00 and so on"), want: "rar archive, which isn't supported"},
		{name: "gzip of a script", file: "p.tgz", data: compressed(t, []byte(body), gz), want: "gzip data that contains no tar"},
		{name: "checksum of gzip", file: "p.tgz", data: flipped, want: "gzip: invalid checksum"},
		{name: "checksum of a header", data: append(append(bytes.Clone(good[:1024]), rawHeader(rawEntry{name: "b", kind: '0'})[1:]...), good...), want: "broken tar archive after 1 entries"},
		{name: "rubbish behind gzip", file: "p.tgz", data: append(compressed(t, good, gz), "rubbish"...), want: "broken gzip data after the tar archive"},
		{name: "rubbish behind bzip2", file: "p.tbz2", data: append(decode(t, bz2), "rubbish"...), want: "broken bzip2 data after the tar archive"},
		{name: "rubbish behind xz", file: "p.txz", data: append(compressed(t, good, xzip), "rubbish!"...), want: "broken xz data after the tar archive"},
		{name: "rubbish behind zstd", file: "p.tzst", data: append(compressed(t, good, zst), "rubbish"...), want: "broken zstd data after the tar archive"},
		{name: "rubbish behind tar", data: append(bytes.Clone(good), "rubbish"...), tree: map[string]string{"a": isX}},
		{name: "rubbish behind zip", file: "p.zip", data: append(zipOf(t, plain("a")), "rubbish"...), tree: map[string]string{"a": isX}},
		{name: "negative size", data: rawTar(rawEntry{name: "a", kind: '0', size: strings.Repeat("\xff", 12), content: "x"}), want: "invalid tar header"},
		{name: "size of 8 GiB", data: rawTar(rawEntry{name: "a", kind: '0', size: "77777777777\x00", content: "x"}), want: "cut off, or sizes in it are wrong"},
		{name: "size of 8 EiB", data: rawTar(rawEntry{name: "a", kind: '0', size: "\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff", content: "x"}), want: "cut off, or sizes in it are wrong"},
		{name: "size in letters", data: rawTar(rawEntry{name: "a", kind: '0', size: "size unknown", content: "x"}), want: "invalid tar header"},
		{name: "zip says less than there is", file: "p.zip", data: zipRaw(t, &zip.FileHeader{Name: "a", UncompressedSize64: 1}, "xyz"), want: `entry "a": zip: `},
		{name: "zip says more than there is", file: "p.zip", data: zipRaw(t, &zip.FileHeader{Name: "a", UncompressedSize64: 1 << 40}, "xyz"), want: "cut off, or sizes in it are wrong"},
		{name: "zip says more than the file has", file: "p.zip", data: zipRaw(t, &zip.FileHeader{Name: "a", UncompressedSize64: 1 << 40, CompressedSize64: 1 << 40}, "xyz"), want: "cut off, or sizes in it are wrong"},
		{name: "zip checksum", file: "p.zip", data: zipRaw(t, &zip.FileHeader{Name: "a", CRC32: 1}, "xyz"), want: "zip: checksum error"},
		{name: "zip encrypted", file: "p.zip", data: zipRaw(t, &zip.FileHeader{Name: "a", Flags: 1}, "xyz"), want: "is encrypted"},
		{name: "zip by an unknown method", file: "p.zip", data: zipRaw(t, &zip.FileHeader{Name: "a", Method: 99}, "xyz"), want: "unsupported compression"},
	} {
		t.Run(h.name, h.run)
	}
}

// TestCutOff: a truncated archive is refused wherever it was cut, and however much of it could be read.
func TestCutOff(t *testing.T) {
	t.Parallel()
	good := tarOf(t, plain("a"), entry{name: "b", content: strings.Repeat("0123456789", 100), mode: 0o755},
		plain("c/d"))
	for name, test := range map[string]struct {
		data  []byte
		end   int // bytes that may be missing: the second block of the end mark
		whole int // at this distance from the end only xz's index is missing, which its decoder does not notice
	}{
		"p.tar":     {data: good, end: 512},
		"p.tar.gz":  {data: compressed(t, good, gz)},
		"p.tar.bz2": {data: decode(t, bz2)},
		"p.tar.xz":  {data: compressed(t, good, xzip), whole: 24},
		"p.tar.zst": {data: compressed(t, good, zst)},
		"p.zip":     {data: zipOf(t, plain("a"), plain("b"))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "download")
			for n := 1; n < len(test.data)-test.end; n += 1 + len(test.data)/150 {
				if err := os.WriteFile(file, test.data[:n], 0o644); err != nil {
					t.Fatal(err)
				}
				err := pack.UnpackFile(context.Background(), file, t.TempDir(), name, pack.Defaults())
				if err == nil && test.whole > 0 && n == len(test.data)-test.whole {
					continue
				}
				if err == nil || errors.Is(err, io.EOF) {
					t.Errorf("%d of %d bytes: %v", n, len(test.data), err)
				}
			}
		})
	}
}

// TestCancelledUnpacking: a kill ends unpacking at once, with the kill's own reason.
func TestCancelledUnpacking(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "download")
	if err := os.WriteFile(file, bomb(t, gz), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("not wanted")
	cancel(why)
	if err := pack.UnpackFile(ctx, file, t.TempDir(), "p.tgz", pack.Defaults()); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}
