package executions

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// encodedExecution is an execution as it is stored: what changes seldom is encoded
// once, what all its writes have in common is not encoded again for each.
type encodedExecution struct {
	*Execution
	Settings *struct{} `json:"settings,omitempty"`
	Shards   *struct{} `json:"shards,omitempty"`
}

// encodeHeader writes an execution, with its shards where they are inline.
func (e *Execution) encodeHeader() []byte {
	b := store.Encode(encodedExecution{Execution: e})
	if e.Settings != nil {
		if e.settingsEncoded == nil {
			e.settingsEncoded = store.Encode(e.Settings)
		}
		b = append(append(b[:len(b)-1], `,"settings":`...), e.settingsEncoded...)
		b = append(b, '}')
	}
	if n := len(e.Shards); n > 0 && n <= store.InlineShards {
		b = append(b[:len(b)-1], `,"shards":`...)
		b = append(appendShards(b, e.Shards), '}')
	}
	return b
}

// appendShards writes shards, of which only those that have changed are encoded again.
func appendShards(b []byte, shards []Shard) []byte {
	size := 0
	for i := range shards {
		if shards[i].encoded == nil {
			shards[i].encoded = store.Encode(&shards[i])
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
func (e *Execution) write(r *store.Commit) {
	if e.chunks() > 0 {
		for _, i := range step.SortedKeys(e.dirtyChunks) {
			r.Raw(store.ChunkPath(e.ID, i), appendShards(nil, e.Shards[i*store.ChunkShards:min((i+1)*store.ChunkShards, len(e.Shards))]))
			e.storedChunks = max(e.storedChunks, i+1)
		}
		clear(e.dirtyChunks)
	}
	if e.dirty {
		e.Chunks = e.chunks()
		r.Raw(store.Under(store.PathExecution, e.ID), e.encodeHeader())
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
