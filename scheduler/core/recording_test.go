package core

import (
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// The last leader that recorded something may be many terms back: servers of an older release begin terms, and end them because the state
// is newer than they know. What that leader's last batch was is said nevertheless.
func TestTermsThatRecordedAreSaidHoweverLongAgo(t *testing.T) {
	t.Parallel()
	h := newRecording(&shared{opt: Options{History: true, Term: 500}, clock: clock{wall: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}})
	for path, value := range map[string]string{pathHistoryBase: "7000000", store.Under(pathHistoryBatches, "3"): "41", store.Under(pathHistoryBatches, "490"): "5"} {
		if err := h.restore(registry.Entry{Path: path, Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	h.loaded(nil, nil, nil)
	said := map[int64]int64{}
	for _, term := range h.rows.Terms {
		said[term.Number] = term.Batches
	}
	if len(said) != formerTerms+1 || said[7000003] != 41 || said[7000490] != 5 {
		t.Errorf("of former terms it says %v", said)
	}
	if batches, ok := said[7000480]; !ok || batches != 0 {
		t.Errorf("it does not say that the first of the last terms made nothing: %v", said)
	}
}
