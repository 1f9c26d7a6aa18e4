package event_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// TestReasons checks that reasons are read from an outbox, including those that an earlier release wrote as sentences.
func TestReasons(t *testing.T) {
	t.Parallel()
	all := func(ended, killing, cause, lost reason.Reason) event.Rows {
		return event.Rows{Executions: []event.Execution{{Reason: ended}, {}},
			Steps:  []event.Step{{Message: killing}, {}},
			Runs:   []event.Run{{Cause: cause}, {}},
			Traces: []event.Trace{{Reason: "REASON_AGENT_REMOVED", Message: lost}, {}}}
	}
	said, killed := reason.FromText("exit status 3"), reason.Of(reason.KilledOnRequest)
	values := all(reason.OfItem(1, said), killed, reason.TimedOut(5, 3, said), reason.EndUnexplained("LOST"))
	written, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		stored string
		want   event.Rows
	}{
		"of this release": {string(written), values},
		"of an earlier release": {`{"executions":[{"reason":"item 1: exit status 3"},{}],"steps":[{"msg":"killed on request"},{}],
			"runs":[{"cause":"exit status 3"},{}],"traces":[{"reason":"REASON_AGENT_REMOVED","msg":"exit status 3"},{}]}`,
			all(reason.FromText("item 1: exit status 3"), killed, said, said)},
	} {
		var got event.Rows
		if err := json.Unmarshal([]byte(c.stored), &got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", name, diff)
		}
	}
}
