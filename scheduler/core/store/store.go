// Package store collects the writes of the parts of the scheduler core: each part adds its writes to the one commit of
// a step. The package defines the paths of the registry and the encoding of records. It owns no state and does no I/O:
// the shell commits the writes.
package store

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/elasticjob-go/elasticjob/registry"
)

// Commit collects the writes of one step, which are committed together or not at all (rule T5).
type Commit struct{ writes []registry.Write }

// Raw adds the write of an encoded value at a path.
func (c *Commit) Raw(path string, value []byte) {
	c.writes = append(c.writes, registry.Write{Path: path, Value: value})
}

// Put adds the write of a record, encoded as JSON, at a path.
func (c *Commit) Put(path string, record any) { c.Raw(path, Encode(record)) }

// Remove adds the removal of the value at a path.
func (c *Commit) Remove(path string) {
	c.writes = append(c.writes, registry.Write{Path: path, Delete: true})
}

// Writes returns all writes so far, in the order in which they were added.
func (c *Commit) Writes() []registry.Write { return c.writes }

// Changed collects the ids of the records that a part has changed since the last commit. The zero value has none.
type Changed struct{ ids map[string]struct{} }

// Add marks a record as changed or removed.
func (c *Changed) Add(id string) {
	if c.ids == nil {
		c.ids = map[string]struct{}{}
	}
	c.ids[id] = struct{}{}
}

// Len returns the number of ids.
func (c *Changed) Len() int { return len(c.ids) }

// Take returns all ids, sorted, and forgets them. It drops the map instead of clearing it, because the time to clear a
// map depends on its largest size ever, for instance after the load of 100,000 jobs.
func (c *Changed) Take() []string {
	if len(c.ids) == 0 {
		return nil
	}
	ids := slices.AppendSeq(make([]string, 0, len(c.ids)), maps.Keys(c.ids))
	slices.Sort(ids)
	c.ids = nil
	return ids
}

// PutChanged adds to the commit the writes of the changed records of a map, at their ids below dir, and the removals
// of those that the map no longer has. It then forgets the changes.
func PutChanged[R any](c *Commit, dir string, records map[string]R, changed *Changed) {
	for _, id := range changed.Take() {
		if v, ok := records[id]; ok {
			c.Put(Under(dir, id), v)
		} else {
			c.Remove(Under(dir, id))
		}
	}
}

// Under returns the path of a name below another path.
func Under(path, name string) string { return path + "/" + name }

// Encode encodes a record as JSON. Records hold only values that JSON can encode, so there is no error. HTML is not
// escaped, because escapes would make the output of a failed process six times as long.
func Encode(record any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(record); err != nil {
		return []byte("null")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
