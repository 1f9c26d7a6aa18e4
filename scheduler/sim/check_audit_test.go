package sim

import (
	"encoding/json"
	"fmt"
	"testing"

	historyevent "github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// A commit has all changes of one step. The record of a job has only their result, but the audit rows name each change,
// in order. The check must compare the two.
func TestPauseRowsAreComparedWithTheWholeCommit(t *testing.T) {
	t.Parallel()
	const missing, idle = "A1 a pause has its row", "A1 what changes nothing leaves no row"
	for _, tt := range []struct {
		name  string
		was   bool
		edits []string // edits that the leader has learned in the step
		rows  []string
		now   string // the record after the step, "" if it is removed
		finds string // the broken invariant, "" for none
	}{
		{"a pause", false, nil, []string{"job.pause"}, `{"paused":true}`, ""},
		{"a pause, and its end", false, nil, []string{"job.pause", "job.resume"}, `{}`, ""},
		{"a pause, and the job is deleted", false, []string{"job.delete job"}, []string{"job.pause", "job.delete"}, "", ""},
		{"a pause, and the job is deleted and registered", false, []string{"job.delete job", "job.register job"}, []string{"job.pause", "job.delete", "job.register"}, `{}`, ""},
		{"a pause, and the job is disabled and enabled", false, []string{"job.disable job", "job.enable job"}, []string{"job.pause", "job.disable", "job.enable"}, `{}`, ""},
		{"a paused job is deleted", true, []string{"job.delete job"}, []string{"job.delete"}, "", ""},
		{"a paused job is deleted, with the row in an earlier commit", true, nil, nil, "", ""},
		{"a pause without a row", false, nil, nil, `{"paused":true}`, missing},
		{"the end of one without a row", true, nil, nil, `{}`, missing},
		{"a row without a pause", false, nil, []string{"job.pause"}, `{}`, missing},
		{"a row without a pause, and the record is removed", false, nil, []string{"job.pause"}, "", missing},
		{"a pause of a job that is deleted", false, []string{"job.delete job"}, []string{"job.delete", "job.pause"}, "", missing},
		{"a pause of a paused job", true, nil, []string{"job.pause"}, `{"paused":true}`, idle},
		{"a pause of a paused job, which is deleted", true, []string{"job.delete job"}, []string{"job.pause", "job.delete"}, "", idle},
		{"the end of a pause that is none", false, nil, []string{"job.resume", "job.pause"}, `{"paused":true}`, idle},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(Config{Seed: 1}, &tracer{})
			w.audits.load(nil)
			w.audits.edits = tt.edits
			w.check.job("job").stored, w.check.job("job").paused = true, tt.was
			writes := []registry.Write{{Path: pathJobState + "/job", Value: []byte(tt.now), Delete: tt.now == ""}}
			for i, action := range tt.rows {
				row := historyevent.Audit{ID: fmt.Sprint("row-", i), Time: epoch, Actor: byUser, Action: action,
					Target: "job", TargetName: "job"}
				if action != "job.pause" && action != "job.resume" {
					row.Actor = historyevent.Actor{Kind: "registry"}
				}
				value, err := json.Marshal(row)
				if err != nil {
					t.Fatal(err)
				}
				writes = append(writes, registry.Write{Path: fmt.Sprint(pathAudit, "/", i+1), Value: value})
			}
			w.audits.committed(term.Commit{Writes: writes})
			found := ""
			if w.failure != nil {
				found = w.failure.Invariant
			}
			if found != tt.finds {
				t.Errorf("found %q, want %q: %+v", found, tt.finds, w.failure)
			}
		})
	}
}
