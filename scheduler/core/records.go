package core

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/elasticjob-go/elasticjob/registry"
)

// dirtySet is what a step changed and has to write.
type dirtySet struct {
	framework    bool
	ourFramework bool
	execs        map[string]*execution
	gone         []*execution
	keys         map[string]bool
	imported     []string // entries of the original that became ours
	oldFramework string
}

func (d *dirtySet) reset() {
	*d = dirtySet{execs: map[string]*execution{}, keys: map[string]bool{}}
}

func (d *dirtySet) header(e *execution) {
	e.dirty = true
	d.execs[e.ID] = e
}

// shard marks one shard of an execution as changed.
func (d *dirtySet) shard(e *execution, index int) {
	e.Shards[index].encoded = nil
	d.execs[e.ID] = e
	if len(e.Shards) <= inlineShards {
		e.dirty = true
		return
	}
	if e.dirtyChunks == nil {
		e.dirtyChunks = map[int]bool{}
	}
	e.dirtyChunks[index/chunkShards] = true
}

// write turns what the step has changed into the writes of one commit, which is all or nothing (rule T5).
func (c *Core) write() {
	d := &c.dirty
	d.gone = append(d.gone, c.executions.ended.trim(c.now, c.opt.EndedKept)...)
	var w []registry.Write
	raw := func(path string, value []byte) { w = append(w, registry.Write{Path: path, Value: value}) }
	put := func(path string, v any) { raw(path, encode(v)) }
	remove := func(path string) { w = append(w, registry.Write{Path: path, Delete: true}) }

	if d.oldFramework != "" {
		put(under(pathOldFramework, d.oldFramework), c.wall)
	}
	if d.framework || d.ourFramework {
		raw(pathOurFramework, []byte(c.ourFrame))
	}
	if d.framework {
		raw(pathFramework, []byte(c.frameworkID))
	}
	if c.executors.counterChanged {
		raw(pathCounter, strconv.AppendInt(nil, c.executors.counter, 10))
		c.executors.counterChanged = false
	}
	writeRecords(c.orphans.changed, c.orphans.byID, pathOrphan, put, remove)
	clear(c.orphans.changed)
	writeRecords(c.executors.changed, c.executors.byID, pathExecutor, put, remove)
	clear(c.executors.changed)
	writeRecords(d.keys, c.keys, pathKey, put, remove)
	for _, key := range sortedKeys(c.starts.changed) {
		if t := c.starts.at(key); t != nil {
			put(under(pathStartFailure, key), t)
		} else {
			remove(under(pathStartFailure, key))
		}
	}
	clear(c.starts.changed)
	for _, id := range sortedKeys(d.execs) {
		if e := d.execs[id]; c.executions.ended.byID[id] == e || c.executions.open[id] == e {
			c.writeExecution(e, raw)
		}
	}
	for _, name := range sortedKeys(c.config.changed) {
		if j := c.config.jobs[name]; j != nil && j.cfg != nil {
			j.stored.Since = j.since
			put(under(pathJobState, name), j.stored)
		} else {
			remove(under(pathJobState, name))
		}
	}
	clear(c.config.changed)
	if c.fires.cursorChanged {
		c.fires.cursorChanged = false
		put(pathCursor, c.fires.cursor)
	}
	for _, e := range d.gone {
		if !e.stored || c.executions.open[e.ID] != nil {
			continue // the id lives again
		}
		remove(under(pathExecution, e.ID))
		for i := range e.storedChunks {
			remove(chunkPath(e.ID, i))
		}
	}
	for _, path := range d.imported {
		remove(path)
	}
	d.reset()
	c.out.Writes = w
}

// writeRecords writes the changed records that are there, and removes those that are not.
func writeRecords[R any](changed map[string]bool, records map[string]R, dir string, put func(string, any), remove func(string)) {
	for _, id := range sortedKeys(changed) {
		if r, ok := records[id]; ok {
			put(under(dir, id), r)
		} else {
			remove(under(dir, id))
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

func (c *Core) writeExecution(e *execution, put func(string, []byte)) {
	if e.chunks() > 0 {
		for _, i := range sortedKeys(e.dirtyChunks) {
			put(chunkPath(e.ID, i), appendShards(nil, e.Shards[i*chunkShards:min((i+1)*chunkShards, len(e.Shards))]))
			e.storedChunks = max(e.storedChunks, i+1)
		}
		clear(e.dirtyChunks)
	}
	if e.dirty {
		e.Chunks = e.chunks()
		put(under(pathExecution, e.ID), e.encodeHeader())
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

func sortedKeys[K interface{ ~string | ~int }, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
