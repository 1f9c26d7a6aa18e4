package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// audited is a document as audit rows compare it (real), and as they show it, without its secrets (shown).
type audited struct{ real, shown any }

// AuditSideBytes is the largest size of Before and of After in an audit row, in bytes.
const AuditSideBytes = 4000

// whole is the complete document as a row shows it, "" for none.
func (d *audited) whole() string {
	if d == nil {
		return ""
	}
	if text := store.Encode(d.shown); len(text) <= AuditSideBytes {
		return string(text)
	}
	return cutFields(objectOf(d.shown))
}

// difference returns the fields in which a document differs from the one that follows it, before and after the
// change; different is false if there are none.
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

// fields are the fields of a document, and those that may be shown: most documents have no secrets.
func (d *audited) fields() (real, shown map[string]json.RawMessage) {
	real = objectOf(d.real)
	if bytes.Equal(store.Encode(d.real), store.Encode(d.shown)) {
		return real, maps.Clone(real)
	}
	return real, objectOf(d.shown)
}

// objectOf are the fields of a value that is encoded as a JSON object.
func objectOf(v any) (of map[string]json.RawMessage) {
	if err := json.Unmarshal(store.Encode(v), &of); err != nil {
		return map[string]json.RawMessage{"unreadable": store.Encode(err.Error())}
	}
	return of
}

// cutFields encodes fields as JSON. If that exceeds AuditSideBytes, the longest are replaced by a note of their
// size.
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
