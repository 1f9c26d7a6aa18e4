package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// audited is a document for an audit row. real is the whole document, which is compared; shown is the document without
// secrets, which the row contains.
type audited struct{ real, shown any }

// AuditSideBytes is the maximum size of Before and of After in an audit row, in bytes.
const AuditSideBytes = 4000

// whole returns the complete document as a row contains it, "" for none.
func (d *audited) whole() string {
	if d == nil {
		return ""
	}
	if text := store.Encode(d.shown); len(text) <= AuditSideBytes {
		return string(text)
	}
	return cutFields(objectOf(d.shown))
}

// difference returns the fields in which a document differs from its next version, with their values before and after
// the change. different is false if there are none.
func (d *audited) difference(next *audited) (before, after string, different bool) {
	was, shownWas := d.fields()
	is, shownIs := next.fields()
	same := 0
	for name, value := range was {
		if string(is[name]) == string(value) {
			delete(shownWas, name)
			delete(shownIs, name)
			same++
		}
	}
	return cutFields(shownWas), cutFields(shownIs), same < len(was) || same < len(is)
}

// fields returns the fields of the whole document and of the shown one. They are equal for most documents, which have
// no secrets.
func (d *audited) fields() (real, shown map[string]json.RawMessage) {
	real = objectOf(d.real)
	if bytes.Equal(store.Encode(d.real), store.Encode(d.shown)) {
		return real, maps.Clone(real)
	}
	return real, objectOf(d.shown)
}

// objectOf returns the fields of a value that JSON encodes as an object.
func objectOf(v any) (of map[string]json.RawMessage) {
	if err := json.Unmarshal(store.Encode(v), &of); err != nil {
		return map[string]json.RawMessage{"unreadable": store.Encode(err.Error())}
	}
	return of
}

// cutFields encodes fields as JSON. If the result exceeds AuditSideBytes, it replaces the longest fields by notes of
// their sizes.
func cutFields(of map[string]json.RawMessage) string {
	text := store.Encode(of)
	for len(text) > AuditSideBytes {
		longest := ""
		for _, name := range step.SortedKeys(of) {
			if longest == "" || len(of[name]) > len(of[longest]) {
				longest = name
			}
		}
		cut := store.Encode(fmt.Sprintf("cut: %d bytes", len(of[longest])))
		if len(cut) >= len(of[longest]) {
			break // no document has so many fields
		}
		of[longest] = cut
		text = store.Encode(of)
	}
	return string(text)
}

// AuditSide encodes a value for Before or After of a row as JSON of at most AuditSideBytes. The caller must have
// removed secrets.
func AuditSide(shown any) string { return (&audited{shown: shown}).whole() }
