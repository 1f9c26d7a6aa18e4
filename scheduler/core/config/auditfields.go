package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// audited is a document as audit rows compare it, and as they show it: without its secrets.
type audited struct{ real, shown any }

// auditSideBytes bounds Before and After of a row, in bytes.
const AuditSideBytes = 4000

// whole is all of a document, "" for none.
func (d *audited) whole() string {
	if d == nil {
		return ""
	}
	if text := store.Encode(d.shown); len(text) <= AuditSideBytes {
		return string(text)
	}
	return cutFields(objectOf(d.shown))
}

// difference has the fields in which a document differs from what it becomes, as it was and as it is then; different is false when they
// are the same.
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

// fields are those of a document, and those that may be shown: most documents have no secrets.
func (d *audited) fields() (real, shown map[string]json.RawMessage) {
	real = objectOf(d.real)
	if bytes.Equal(store.Encode(d.real), store.Encode(d.shown)) {
		return real, maps.Clone(real)
	}
	return real, objectOf(d.shown)
}

// objectOf are the fields of what is an object in JSON.
func objectOf(v any) (of map[string]json.RawMessage) {
	if err := json.Unmarshal(store.Encode(v), &of); err != nil {
		return map[string]json.RawMessage{"unreadable": store.Encode(err.Error())}
	}
	return of
}

// cutFields are fields as JSON. Where that is too long the longest are cut, and say so.
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

// auditSide is how a row shows something that it does not compare.
func AuditSide(shown any) string { return (&audited{shown: shown}).whole() }
