package core

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/elasticjob-go/elasticjob/registry"
)

// records are the writes of one commit, which is all or nothing (rule T5). Every part adds those of its own state.
type records struct{ writes []registry.Write }

func (r *records) raw(path string, value []byte) {
	r.writes = append(r.writes, registry.Write{Path: path, Value: value})
}

func (r *records) put(path string, v any) { r.raw(path, encode(v)) }

func (r *records) remove(path string) {
	r.writes = append(r.writes, registry.Write{Path: path, Delete: true})
}

// changes are the ids of what a part has changed since the last commit.
type changes map[string]struct{}

func (c *changes) add(id string) {
	if *c == nil {
		*c = changes{}
	}
	(*c)[id] = struct{}{}
}

// take is all of them, sorted; there are none then. A map is not emptied but left: emptying one that was large once, as after
// a load of 100,000 jobs, takes as long as it was large.
func (c *changes) take() []string {
	ids := sortedKeys(*c)
	*c = nil
	return ids
}

// putChanged writes the changed ones of what is kept below a path, and removes those that are no more.
func putChanged[R any](r *records, dir string, kept map[string]R, changed *changes) {
	for _, id := range changed.take() {
		if v, ok := kept[id]; ok {
			r.put(under(dir, id), v)
		} else {
			r.remove(under(dir, id))
		}
	}
}

// encode writes a record. All records are made of what JSON can hold, so there
// is no error; HTML is not escaped, which would make causes six times as long.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// encodedExecution is an execution as it is stored: what changes seldom is encoded
// once, what all its writes have in common is not encoded again for each.
type encodedExecution struct {
	*execution
	Settings *struct{} `json:"settings,omitempty"`
	Shards   *struct{} `json:"shards,omitempty"`
}

// encodeHeader writes an execution, with its shards where they are inline.
func (e *execution) encodeHeader() []byte {
	b := encode(encodedExecution{execution: e})
	if e.Settings != nil {
		if e.settingsEncoded == nil {
			e.settingsEncoded = encode(e.Settings)
		}
		b = append(append(b[:len(b)-1], `,"settings":`...), e.settingsEncoded...)
		b = append(b, '}')
	}
	if n := len(e.Shards); n > 0 && n <= inlineShards {
		b = append(b[:len(b)-1], `,"shards":`...)
		b = append(appendShards(b, e.Shards), '}')
	}
	return b
}

// appendShards writes shards, of which only those that have changed are encoded again.
func appendShards(b []byte, shards []shard) []byte {
	size := 0
	for i := range shards {
		if shards[i].encoded == nil {
			shards[i].encoded = encode(&shards[i])
		}
		size += len(shards[i].encoded) + 1
	}
	b = append(slices.Grow(b, size+2), '[')
	for i := range shards {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, shards[i].encoded...)
	}
	return append(b, ']')
}

// write adds what of an execution has changed.
func (e *execution) write(r *records) {
	if e.chunks() > 0 {
		for _, i := range sortedKeys(e.dirtyChunks) {
			r.raw(chunkPath(e.ID, i), appendShards(nil, e.Shards[i*chunkShards:min((i+1)*chunkShards, len(e.Shards))]))
			e.storedChunks = max(e.storedChunks, i+1)
		}
		clear(e.dirtyChunks)
	}
	if e.dirty {
		e.Chunks = e.chunks()
		r.raw(under(pathExecution, e.ID), e.encodeHeader())
		e.Chunks = 0
		e.stored, e.dirty = true, false
	}
	if e.Ended > 0 {
		e.settingsEncoded = nil
		for i := range e.Shards {
			e.Shards[i].encoded = nil
		}
	}
}
