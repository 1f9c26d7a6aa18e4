package executions

import (
	"time"
)

// keyRetention is how long an Idempotency-Key is remembered.
const keyRetention = 24 * time.Hour

// KeepKey remembers, for keyRetention from at, that the execution with that id was triggered with an Idempotency-Key
// (rule T3).
func (es *Set) KeepKey(id string, at time.Time) {
	es.keys[id] = at
	es.changedKeys.Add(id)
	es.forgetKeyLater(id, at)
}

func (es *Set) forgetKeyLater(id string, at time.Time) {
	es.shared.Timers.At(at.Add(keyRetention), func(time.Time) {
		delete(es.keys, id)
		es.changedKeys.Add(id)
	})
}

// KeyKnown reports whether an execution with that id was triggered with an Idempotency-Key that is still remembered.
func (es *Set) KeyKnown(id string) bool {
	_, known := es.keys[id]
	return known
}

// NumKeys returns the number of remembered Idempotency-Keys (rule T3).
func (es *Set) NumKeys() int { return len(es.keys) }
