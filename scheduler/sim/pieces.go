package sim

import (
	"bytes"
	"encoding/json"
)

// decoder reads executions and chunks of shards as encoding/json does, but decodes
// only what has changed since the last version at the same path: most writes of an
// execution change one shard of many and none of its settings.
//
// What it does not know at first sight, encoding/json reads as a whole.
type decoder struct {
	last map[string]*version
	head []byte
}

// version is what was last read at a path: the bytes of its pieces, and what they mean.
type version struct {
	settings []byte
	record   record
	raw      [][]byte // of each shard
	shards   []shardRecord
}

func newDecoder() *decoder { return &decoder{last: map[string]*version{}} }

// forget drops what is kept of a path that is deleted.
func (d *decoder) forget(path string) { delete(d.last, path) }

// record reads an execution. The caller may keep it and must not change what it refers to.
func (d *decoder) record(path string, value []byte) (record, error) {
	v := d.at(path)
	if r, ok := d.headOf(v, value); ok {
		return r, nil
	}
	d.forget(path)
	var r record
	err := json.Unmarshal(value, &r)
	return r, err
}

// chunk reads a list of shards. The caller may keep it and must not change it.
func (d *decoder) chunk(path string, value []byte) ([]shardRecord, error) {
	if v := d.at(path); v.list(value) {
		return v.shards, nil
	}
	d.forget(path)
	var part []shardRecord
	err := json.Unmarshal(value, &part)
	return part, err
}

func (d *decoder) at(path string) *version {
	v := d.last[path]
	if v == nil {
		v = &version{}
		d.last[path] = v
	}
	return v
}

// headOf reads the large members only if they differ from the last version, and
// the others always.
func (d *decoder) headOf(v *version, value []byte) (r record, ok bool) {
	var settings, shards []byte
	d.head = append(d.head[:0], '{')
	for rest := value; len(rest) > 1; {
		if len(rest) == len(value) && rest[0] != '{' || len(rest) < len(value) && rest[0] != ',' {
			return r, false
		}
		rest = rest[1:]
		key := end(rest)
		if key < 2 || rest[0] != '"' || key >= len(rest) || rest[key] != ':' {
			return r, false
		}
		n := end(rest[key+1:])
		if n <= 0 {
			return r, false
		}
		member := rest[key+1 : key+1+n]
		switch name := rest[1 : key-1]; string(name) {
		case "settings":
			if settings != nil || member[0] != '{' {
				return r, false
			}
			settings = member
		case "shards":
			if shards != nil || member[0] != '[' {
				return r, false
			}
			shards = member
		default:
			if len(d.head) > 1 {
				d.head = append(d.head, ',')
			}
			d.head = append(d.head, rest[:key+1+n]...)
		}
		rest = rest[key+1+n:]
		if len(rest) == 1 {
			if rest[0] != '}' {
				return r, false
			}
			ok = true
		}
	}
	d.head = append(d.head, '}')
	if !ok || json.Unmarshal(d.head, &r) != nil || r.Settings != nil || r.Shards != nil {
		return record{}, false
	}
	switch {
	case settings == nil:
	case bytes.Equal(settings, v.settings):
		r.Settings = v.record.Settings
	case json.Unmarshal(settings, &r.Settings) != nil:
		return record{}, false
	}
	if shards != nil {
		if !v.list(shards) {
			return record{}, false
		}
		r.Shards = v.shards
	}
	v.settings, v.record.Settings = settings, r.Settings
	return r, true
}

// list reads an array of shards, each only if its bytes differ from those that were
// last at its place. If it can't, the version is not to be used any more.
func (v *version) list(value []byte) bool {
	if len(value) < 2 || value[0] != '[' || value[len(value)-1] != ']' {
		return false
	}
	old := v.shards
	v.shards = make([]shardRecord, 0, len(old))
	for rest := value[1:]; rest[0] != ']' || len(v.shards) == 0 || len(rest) != 1; {
		if i := len(v.shards); i > 0 {
			if rest[0] != ',' {
				return false
			}
			rest = rest[1:]
		}
		n := end(rest)
		if n <= 0 || n >= len(rest) || rest[0] != '{' {
			return false
		}
		i := len(v.shards)
		if i == len(v.raw) {
			v.raw = append(v.raw, nil)
		}
		if i < len(old) && bytes.Equal(rest[:n], v.raw[i]) {
			v.shards = append(v.shards, old[i])
		} else {
			var s shardRecord
			if json.Unmarshal(rest[:n], &s) != nil {
				return false
			}
			v.shards = append(v.shards, s)
		}
		v.raw[i] = rest[:n]
		rest = rest[n:]
	}
	return true
}

// end is the length of the JSON value that b begins with, or 0. It only looks for
// where the value ends; whether it is right, encoding/json says. Space between
// values, which the scheduler core never writes, is not taken.
func end(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			n := endOfString(b[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':':
			if depth == 0 {
				return i
			}
		case ' ', '\t', '\n', '\r':
			return 0
		}
	}
	return 0
}

func endOfString(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}
