package executions

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// encodedRecord is a record without the settings, which seldom change and are encoded once.
type encodedRecord struct {
	*record
	Settings *struct{} `json:"settings,omitempty"`
}

// encodeHeader encodes an execution, with its shards where they are inline.
func (e *Execution) encodeHeader() []byte {
	b := store.Encode(encodedRecord{record: &e.rec})
	if e.rec.Settings != nil {
		if e.settingsEncoded == nil {
			e.settingsEncoded = store.Encode(e.rec.Settings)
		}
		b = append(append(b[:len(b)-1], `,"settings":`...), e.settingsEncoded...)
		b = append(b, '}')
	}
	if n := len(e.shards); n > 0 && n <= store.InlineShards {
		b = append(b[:len(b)-1], `,"shards":`...)
		b = append(appendShards(b, e.shards), '}')
	}
	return b
}

// appendShards appends the encoded shards. It encodes only those that have changed since they were last encoded.
func appendShards(b []byte, shards []Shard) []byte {
	size := 0
	for i := range shards {
		if shards[i].encoded == nil {
			shards[i].encoded = store.Encode(&shards[i].rec)
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

// write adds the changed entries of an execution to the commit.
func (e *Execution) write(r *store.Commit) {
	if e.chunks() > 0 {
		for _, i := range step.SortedKeys(e.dirtyChunks) {
			r.Raw(store.ChunkPath(e.rec.ID, i),
				appendShards(nil, e.shards[i*store.ChunkShards:min((i+1)*store.ChunkShards, len(e.shards))]))
			e.storedChunks = max(e.storedChunks, i+1)
		}
		clear(e.dirtyChunks)
	}
	if e.dirty {
		e.rec.Chunks = e.chunks()
		r.Raw(store.Under(store.PathExecution, e.rec.ID), e.encodeHeader())
		e.rec.Chunks = 0
		e.stored, e.dirty = true, false
	}
	if e.rec.EndNumber > 0 {
		e.settingsEncoded = nil
		for i := range e.shards {
			e.shards[i].encoded = nil
		}
	}
}
