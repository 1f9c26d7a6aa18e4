package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/go-zookeeper/zk"
)

// Requests that the client library does not have, or has only one at a time.
// ZooKeeper 3.6 brought the watch and the bulk read.
const (
	opGetData     = 4
	opGetChildren = 8
	opMultiRead   = 22
	opAuth        = 100
	opAddWatch    = 106
	opError       = -1
)

func appendString[S string | []byte](b []byte, s S) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

func digestAuth(digest string) []byte {
	return appendString(appendString([]byte{0, 0, 0, 0}, "digest"), digest)
}

// recursiveWatch asks for all changes of a node and whatever is below it, until
// the connection ends.
func recursiveWatch(full string) []byte {
	return append(appendString([]byte(nil), full), 0, 0, 0, 1)
}

// got is one answer of a bulk read: a node's value with its stat, or its children.
type got struct {
	value []byte
	stat  zk.Stat
	names []string
	err   error
}

// readBulk gets the value (opGetData) or the children (opGetChildren) of each path.
func (w *wires) readBulk(ctx context.Context, code int32, full []string) ([]got, error) {
	var body []byte
	for _, path := range full {
		body = binary.BigEndian.AppendUint32(body, uint32(code))
		body = append(body, 0, 0xff, 0xff, 0xff, 0xff) // not done, no error
		body = append(appendString(body, path), 0)     // no watch
	}
	body = append(body, 0xff, 0xff, 0xff, 0xff, 1, 0xff, 0xff, 0xff, 0xff)
	answer, err := w.ask(ctx, opMultiRead, body)
	if err != nil {
		return nil, err
	}
	d := decoder{rest: answer}
	found := make([]got, len(full))
	for i := range found {
		switch code := d.int32(); code {
		case opError:
			d.skip(5)
			found[i].err = errorOf(zk.ErrCode(d.int32()))
		case opGetData:
			d.skip(5)
			found[i].value = d.bytes()
			found[i].stat = zk.Stat{Czxid: d.int64(), Mzxid: d.int64(), Ctime: d.int64(), Mtime: d.int64(), Version: d.int32(),
				Cversion: d.int32(), Aversion: d.int32(), EphemeralOwner: d.int64(), DataLength: d.int32(), NumChildren: d.int32(), Pzxid: d.int64()}
		case opGetChildren:
			d.skip(5)
			for range d.int32() {
				found[i].names = append(found[i].names, string(d.bytes()))
				if d.short {
					break
				}
			}
		default:
			d.short = true
		}
		if d.short {
			return nil, errors.New("ZooKeeper's answer to a bulk read is cut short")
		}
	}
	return found, nil
}

// decoder reads ZooKeeper's encoding. Values are copied.
type decoder struct {
	rest  []byte
	short bool
}

func (d *decoder) take(n int) []byte {
	if n < 0 || n > len(d.rest) {
		d.short = true
		return make([]byte, 8)
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) skip(n int)   { d.take(n) }
func (d *decoder) int32() int32 { return int32(binary.BigEndian.Uint32(d.take(4))) }
func (d *decoder) int64() int64 { return int64(binary.BigEndian.Uint64(d.take(8))) }

func (d *decoder) bytes() []byte {
	n := d.int32()
	if n <= 0 {
		return []byte{}
	}
	return append([]byte(nil), d.take(int(n))...)
}
