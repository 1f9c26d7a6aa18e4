package database

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// TestCodesOfRows checks that a stored reason is returned as a code with its arguments.
func TestCodesOfRows(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		sentence, value *string
		want            string
	}{
		"nothing":                              {nil, nil, ``},
		"no sentence":                          {text(""), nil, ``},
		"a text":                               {text("exit status 3"), nil, `text`},
		"a sentence of an earlier release":     {text("killed on request"), nil, `killed_on_request`},
		"a value":                              {text("whatever it says"), text(`{"code":"end_unexplained","args":{"state":"LOST"}}`), `end_unexplained {"state":"LOST"}`},
		"a value alone":                        {nil, text(`{"code":"server_stopped"}`), `server_stopped`},
		"the code of a later release":          {text("a"), text(`{"code":"later","args":{"a":{"code":"b"}}}`), `later {"a":{"code":"b"}}`},
		"an invalid value":                     {text("exit status 3"), text(`{"code":`), `text`},
		"a value without a code":               {text("exit status 3"), text(`{}`), `text`},
		"an invalid value, without a sentence": {nil, text(`3`), ``},
	} {
		code, args := codeOf(c.sentence, c.value)
		got := code
		if args != nil {
			all, _ := json.Marshal(args)
			got += " " + string(all)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestValuesThatAreTooLongAreLeftOut checks that a value that is too long for its column is left out, and that the row
// and its sentence are stored.
func TestValuesThatAreTooLongAreLeftOut(t *testing.T) {
	t.Parallel()
	of := func(length int) reason.Reason { // 4 bytes per character
		empty, _ := json.Marshal(reason.OverMemoryLimit("x"))
		return reason.OverMemoryLimit(strings.Repeat("😀", length-len(empty)+1))
	}
	eachMigrated(t, func(t *testing.T, d *DB) {
		for length, want := range map[int]string{maxValue: "over_memory_limit", maxValue + 1: "text"} {
			id, why := fmt.Sprint(length), of(length)
			write(t, d, event.Rows{
				Executions: []event.Execution{{ID: id, Revision: event.Ended, Job: id, State: "FAILED", Reason: why,
					Fire: noon, End: noon}},
				Steps: []event.Step{{ID: id, Execution: id, Message: why, Time: noon}},
				Runs: []event.Run{{ID: id, Revision: event.Ended, Job: id, Task: id, Execution: id, State: "FAILED",
					Cause: why, Start: noon, End: noon}},
				Traces: []event.Trace{{ID: id, Job: id, Execution: id, Message: why, Time: noon}},
			})
			e, _, failed := d.Execution(t.Context(), id)
			list, failedList := d.Executions(t.Context(), search.Executions{Job: id, Limit: 1})
			life, _, failedLife := d.Life(t.Context(), id, 10)
			runs, failedRuns := d.Runs(t.Context(), question(t, search.Runs, "jobName="+id))
			traces, failedTraces := d.Traces(t.Context(), question(t, search.Traces, "jobName="+id))
			statistics, failedStatistics := d.JobStatistics(t.Context(), id, noon)
			if failed != nil || failedList != nil || failedLife != nil || failedRuns != nil || failedTraces != nil ||
				failedStatistics != nil || len(life) != 4 {
				t.Fatal(failed, failedList, failedLife, failedRuns, failedTraces, failedStatistics, len(life))
			}
			codes := []string{e.ReasonCode, e.Shards[0].FailureCode, list[0].ReasonCode, life[1].MessageCode,
				life[2].MessageCode, life[3].MessageCode, runs.Rows[0].FailureCode, traces.Rows[0].MessageCode,
				statistics.LastFailure.ReasonCode}
			for i, code := range codes {
				if code != want {
					t.Errorf("%d characters: code %d of %v is not %s", length, i+1, codes, want)
				}
			}
			if !strings.HasPrefix(*e.Reason, "over the memory limit") || (want == "text") != (e.ReasonArgs == nil) {
				t.Errorf("%s %v", *e.Reason, e.ReasonArgs)
			}
		}
	})
}
