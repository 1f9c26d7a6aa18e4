package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// audited is a document for an audit row: real is compared, shown is what the row contains, without secrets.
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

// difference returns the fields in which a document differs from then, the document after the change: their values
// before and after it. different is false if there are none.
func (d *audited) difference(then *audited) (before, after string, different bool) {
	was, shownWas := d.fields()
	is, shownIs := then.fields()
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

// fields returns the fields of a document, and those that may be shown. Most documents have no secrets, so that both
// are equal.
func (d *audited) fields() (real, shown map[string]json.RawMessage) {
	real = objectOf(d.real)
	if bytes.Equal(store.Encode(d.real), store.Encode(d.shown)) {
		return real, maps.Clone(real)
	}
	return real, objectOf(d.shown)
}

// objectOf returns the fields of a value that is encoded as a JSON object.
func objectOf(v any) (of map[string]json.RawMessage) {
	if err := json.Unmarshal(store.Encode(v), &of); err != nil {
		return map[string]json.RawMessage{"unreadable": store.Encode(err.Error())}
	}
	return of
}

// cutFields encodes fields as JSON. If the result exceeds AuditSideBytes, notes of their sizes replace the longest
// fields.
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
