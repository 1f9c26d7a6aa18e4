package embedded

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// verify reads all used pages once, and returns an error if one is damaged. bbolt finds some kinds of damage itself
// when it opens a file, but then it panics on its own goroutine, which ends the process, and it loops forever on a
// cycle of pages. verify checks only bbolt's page format, because values have no checksum.
func verify(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	v, err := newVerifier(f)
	if err != nil {
		return err
	}
	return v.bucket(v.root, nil)
}

// These are the sizes and flags in bbolt's page format, version 2.
const (
	pageHeader  = 16
	element     = 16 // the size of a branch or leaf element
	metaBytes   = 64
	bucketBytes = 16 // the size of the header of an inline bucket

	branchPage = 0x01
	leafPage   = 0x02
	bucketLeaf = 0x01

	magic       = 0xED0CDAED
	fileVersion = 2
	maxDepth    = 64
)

var native = binary.NativeEndian

// verifier checks the pages of a file.
type verifier struct {
	file     io.ReaderAt
	pageSize int64
	root     uint64          // the root page of the file
	end      uint64          // the first page after the used pages
	seen     map[uint64]bool // the pages that were checked
}

// newVerifier reads the newer one of the two meta pages.
func newVerifier(f io.ReaderAt) (*verifier, error) {
	v := &verifier{file: f, seen: map[uint64]bool{}}
	var latest uint64
	// The position of the second meta page depends on the page size, which is not known if the first meta page is
	// damaged.
	for _, offset := range []int64{0, 4096, 8192, 16384, 32768, 65536} {
		page := make([]byte, pageHeader+metaBytes)
		if _, err := f.ReadAt(page, offset); err != nil {
			continue
		}
		meta := page[pageHeader:]
		size := int64(native.Uint32(meta[8:]))
		sum := fnv.New64a()
		_, _ = sum.Write(meta[:56])
		isMeta := native.Uint32(meta) == magic && native.Uint32(meta[4:]) == fileVersion &&
			sum.Sum64() == native.Uint64(meta[56:])
		if !isMeta || offset != 0 && offset != size {
			continue
		}
		if txid := native.Uint64(meta[48:]); v.pageSize == 0 || txid > latest {
			latest, v.pageSize, v.root, v.end = txid, size, native.Uint64(meta[16:]), native.Uint64(meta[40:])
		}
	}
	if v.pageSize < 1024 || v.pageSize > 1<<20 {
		return nil, damaged("neither of its first two pages is valid")
	}
	return v, nil
}

// bucket checks the tree of a bucket. path are the pages above its root page.
func (v *verifier) bucket(root uint64, path []uint64) error {
	var last []byte
	return v.tree(root, path, nil, &last)
}

// tree checks a page and the pages below it. least is the key of the page in its parent, so no key of the page may be
// smaller. last is the last key that was checked in the bucket.
func (v *verifier) tree(id uint64, path []uint64, least []byte, last *[]byte) error {
	bad := func(format string, args ...any) error {
		return damaged(fmt.Sprintf("page %d: ", id) + fmt.Sprintf(format, args...))
	}
	switch {
	case id < 2 || id >= v.end:
		return bad("not one of %d", v.end)
	case v.seen[id]:
		return bad("used twice")
	case len(path) > maxDepth:
		return bad("too deep")
	}
	header := make([]byte, pageHeader)
	if _, err := v.file.ReadAt(header, int64(id)*v.pageSize); err != nil {
		return bad("%v", err)
	}
	overflow := uint64(native.Uint32(header[12:]))
	if id+overflow >= v.end {
		return bad("extends past the end")
	}
	for i := range overflow + 1 {
		if v.seen[id+i] {
			return bad("used twice")
		}
		v.seen[id+i] = true
	}
	page := make([]byte, int64(overflow+1)*v.pageSize)
	if _, err := v.file.ReadAt(page, int64(id)*v.pageSize); err != nil && !errors.Is(err, io.EOF) {
		return bad("%v", err)
	}
	if native.Uint64(page) != id {
		return bad("claims to be page %d", native.Uint64(page))
	}
	return v.page(page, append(path, id), least, last, bad)
}

// page checks a page, or a small bucket that is stored inline in a leaf. bad returns an error about the page.
func (v *verifier) page(page []byte, path []uint64, least []byte, last *[]byte, bad func(string, ...any) error) error {
	if len(page) < pageHeader {
		return bad("too short")
	}
	flags, count := native.Uint16(page[8:]), int(native.Uint16(page[10:]))
	if flags != branchPage && flags != leafPage {
		return bad("neither branch nor leaf")
	}
	if pageHeader+count*element > len(page) {
		return bad("no space for %d elements", count)
	}
	if flags == branchPage && count == 0 {
		return bad("a branch without children")
	}
	for i := range count {
		at := pageHeader + i*element
		e := page[at : at+element]
		if flags == branchPage {
			pos, size := uint64(native.Uint32(e)), uint64(native.Uint32(e[4:]))
			if uint64(at)+pos+size > uint64(len(page)) {
				return bad("the key of child %d is past the end", i)
			}
			key := page[uint64(at)+pos : uint64(at)+pos+size]
			if i > 0 && bytes.Compare(key, *last) <= 0 || i == 0 && bytes.Compare(key, least) < 0 {
				return bad("keys are out of order")
			}
			if err := v.tree(native.Uint64(e[8:]), path, key, last); err != nil {
				return err
			}
			continue
		}
		if err := v.leaf(page, at, e, path, least, last, bad); err != nil {
			return err
		}
	}
	return nil
}

// leaf checks an element of a leaf: e, whose offset in the page is at.
func (v *verifier) leaf(page []byte, at int, e []byte, path []uint64, least []byte, last *[]byte,
	bad func(string, ...any) error) error {
	kind, pos, size, value := native.Uint32(e), uint64(native.Uint32(e[4:])), uint64(native.Uint32(e[8:])),
		uint64(native.Uint32(e[12:]))
	from := uint64(at) + pos
	if from+size+value > uint64(len(page)) {
		return bad("an entry is past the end")
	}
	key := page[from : from+size]
	if size == 0 || *last != nil && bytes.Compare(key, *last) <= 0 || bytes.Compare(key, least) < 0 {
		return bad("keys are out of order")
	}
	*last = bytes.Clone(key)
	switch {
	case kind > bucketLeaf:
		return bad("an entry of kind %d", kind)
	case kind != bucketLeaf:
		return nil
	case value < bucketBytes:
		return bad("the bucket %q is cut", key)
	}
	stored := page[from+size : from+size+value]
	if root := native.Uint64(stored); root != 0 {
		return v.bucket(root, path)
	}
	var inside []byte
	return v.page(stored[bucketBytes:], path, nil, &inside, bad)
}
