// Package store is how the parts of the scheduler core say what of their state is to be written: each adds its own to
// the one commit of a step.
package store

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/elasticjob-go/elasticjob/registry"
)

// Commit is the writes of one step, which are done together or not at all (rule T5).
type Commit struct{ writes []registry.Write }

// Raw writes a value that is encoded already.
func (c *Commit) Raw(path string, value []byte) {
	c.writes = append(c.writes, registry.Write{Path: path, Value: value})
}

// Put writes a record.
func (c *Commit) Put(path string, record any) { c.Raw(path, Encode(record)) }

// Remove removes what is at a path.
func (c *Commit) Remove(path string) {
	c.writes = append(c.writes, registry.Write{Path: path, Delete: true})
}

// Writes are all so far, in their order.
func (c *Commit) Writes() []registry.Write { return c.writes }

// Changed has the ids of what a part has changed since the last commit. The zero value has none.
type Changed struct{ ids map[string]struct{} }

// Add adds an id.
func (c *Changed) Add(id string) {
	if c.ids == nil {
		c.ids = map[string]struct{}{}
	}
	c.ids[id] = struct{}{}
}

// Len is how many there are.
func (c *Changed) Len() int { return len(c.ids) }

// Take returns all of them, sorted; there are none then. A map is not emptied but left: emptying one that was large
// once, as after a load of 100,000 jobs, takes as long as it was large.
func (c *Changed) Take() []string {
	if len(c.ids) == 0 {
		return nil
	}
	ids := make([]string, 0, len(c.ids))
	for id := range c.ids {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	c.ids = nil
	return ids
}

// PutChanged writes the changed ones of what is kept below a path, and removes those that are no more.
func PutChanged[R any](c *Commit, dir string, kept map[string]R, changed *Changed) {
	for _, id := range changed.Take() {
		if v, ok := kept[id]; ok {
			c.Put(Under(dir, id), v)
		} else {
			c.Remove(Under(dir, id))
		}
	}
}

// Under is the path of a name below another path.
func Under(path, name string) string { return path + "/" + name }

// Encode encodes a record as JSON. All records are made of what JSON can hold, so there is no error; HTML is not
// escaped, which would make the output of a failed process six times as long.
func Encode(record any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(record); err != nil {
		return []byte("null")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
