package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/audit"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/recording"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// requestAudits requests n audit rows with ids that count from the given number, each of about size bytes.
func requestAudits(s *stage, from, n, size int) {
	s.t.Helper()
	var rows []event.Audit
	for i := range n {
		rows = append(rows, event.Audit{ID: fmt.Sprintf("id-%06d", from+i), Time: s.wall(), Action: "user.add",
			Target: "user", TargetName: "u", After: strings.Repeat("x", size)})
	}
	s.step(Request{Token: 1, Event: AuditRequested{Rows: rows}})
	s.step() // the limits are enforced one step later
}

// storedAudits returns the number of audit rows in the registry, and their bytes.
func storedAudits(s *stage) (n, bytes int) {
	for path, value := range s.stored {
		if strings.HasPrefix(path, store.PathAudit+"/") {
			n, bytes = n+1, bytes+len(value)
		}
	}
	return n, bytes
}

// TestA1TheNewestRowsAreKept checks that without a history the newest rows are kept, up to a number and a size, in
// memory and in the registry.
func TestA1TheNewestRowsAreKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ rows, size, kept int }{
		"10,000 rows": {rows: audit.AuditRows + 700, size: 10, kept: audit.AuditRows},
		"16 MB":       {rows: 5000, size: 8000, kept: 2070},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			for n := 0; n < c.rows; n += 100 {
				requestAudits(s, n, 100, c.size)
			}
			stored, bytes := storedAudits(s)
			if stored != len(s.core.audit.Rows()) || bytes != s.core.audit.Bytes() || s.core.audit.NumIDs() != stored {
				t.Fatalf("%d rows of %d bytes are stored; %d rows of %d bytes with %d ids are kept", stored, bytes,
					len(s.core.audit.Rows()), s.core.audit.Bytes(), s.core.audit.NumIDs())
			}
			if stored > c.kept || stored < c.kept-40 || bytes > audit.AuditBytes {
				t.Errorf("%d rows of %d bytes are kept, want about %d", stored, bytes, c.kept)
			}
			s.restart()
			rows := s.core.views.Audits(search.Audits{Limit: 1})
			if want := fmt.Sprintf("id-%06d", c.rows-1); len(rows) != 1 || rows[0].ID != want {
				t.Errorf("the newest row is %+v, want %s", rows, want)
			}
			if n := len(s.core.views.Audits(search.Audits{Limit: audit.AuditRows})); n != stored {
				t.Errorf("the next leader finds %d rows, want %d", n, stored)
			}
		})
	}
}

// TestA1RowsStayUntilTheyAreStored checks that with a history a row is kept until the database has it. Beyond the
// limits it is kept only until it is in a batch.
func TestA1RowsStayUntilTheyAreStored(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.History, s.opt.Term = true, 1
	s.restart()
	recorded := map[string]bool{}
	record := func() {
		for _, a := range s.last.History.Audits {
			recorded[a.ID] = true
		}
	}
	for n := 0; n < audit.AuditRows+1000; n += 1000 {
		var rows []event.Audit
		for i := range 1000 {
			rows = append(rows, event.Audit{ID: fmt.Sprint("id-", n+i), Time: s.wall()})
		}
		s.step(Request{Token: 1, Event: AuditRequested{Rows: rows}})
		for record(); len(s.core.recording.ToAudit()) > 0; record() {
			s.step()
		}
	}
	s.step()
	if n, _ := storedAudits(s); n != audit.AuditRows || len(recorded) != audit.AuditRows+1000 {
		t.Errorf("%d rows are stored and %d recorded, want %d and %d", n, len(recorded), audit.AuditRows,
			audit.AuditRows+1000)
	}
	s.step(HistoryStored{Batches: s.core.recording.Batches() - 1})
	if n, _ := storedAudits(s); n != recording.AuditsPerStep {
		t.Errorf("%d rows are left, want the %d of the last batch", n, recording.AuditsPerStep)
	}
	s.step(HistoryStored{Batches: s.core.recording.Batches()})
	if n, _ := storedAudits(s); n != 0 || s.core.audit.NumIDs() != 0 || s.core.audit.Bytes() != 0 {
		t.Errorf("%d rows are left although the database has all", n)
	}
}

// TestA1AFailedChangeLeavesNoRow checks that a change whose commit failed leaves no row, although its row already had
// a number.
func TestA1AFailedChangeLeavesNoRow(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	d := s.step(Request{Token: 7, Event: ChangeRequested{Change: config.SetAppDisabled{Name: "my_app", Disabled: true},
		Actor: event.Actor{Name: "alice"}}})
	isRow := func(w registry.Write) bool { return strings.HasPrefix(w.Path, store.PathAudit) }
	if !slices.ContainsFunc(d.Change, isRow) {
		t.Fatalf("the planned change has no row: %+v", d.Change)
	}
	// The commit meets a conflict, so ChangeCommitted never comes. The next steps have other changes.
	s.step(Request{Token: 8, Event: operator.PauseRequested{Job: "nosuch"}})
	s.step(Request{Token: 9, Event: operator.ReconcileRequested{}})
	if rows := s.core.views.Audits(search.Audits{Action: "app.disable", Limit: 10}); len(rows) != 0 {
		t.Errorf("the failed change has rows: %+v", rows)
	}
}

// TestA1AChangedSecretIsNotInItsRow checks that the row of a changed secret names its field, and contains neither the
// old nor the new secret.
func TestA1AChangedSecretIsNotInItsRow(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	webhook := func(key string) func(*jobs.Config) {
		return func(j *jobs.Config) {
			j.JobErrorHandlerType, j.Props = jobs.HandlerWebhook,
				document.Texts{jobs.PropWebhookURL: {Value: "https://h/" + key}}
		}
	}
	s.job(webhook("hunter1"))
	s.apply(s.core.planUpdateJob("my_job",
		func(j jobs.Config) (jobs.Config, error) { webhook("hunter2")(&j); return j, nil }))
	rows := s.core.views.Audits(search.Audits{Action: "job.update", Limit: 10})
	if len(rows) != 1 || !strings.Contains(rows[0].Before, "props") || !strings.Contains(rows[0].After, "props") {
		t.Fatalf("want one row with the changed field, got %+v", rows)
	}
	for path, value := range s.stored {
		if strings.HasPrefix(path, store.PathAudit) && strings.Contains(string(value), "hunter") {
			t.Errorf("the row at %s contains the secret: %s", path, value)
		}
	}
}

// TestA1LongFieldsAreCutAndSaySo checks that a row has the size of a long field instead of its value, that other fields
// stay, and that the result is JSON of a bounded size.
func TestA1LongFieldsAreCutAndSaySo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(j *jobs.Config) {
		j.Description = strings.Repeat("\x01\u2028", 20_000)
		j.Env = document.Texts{"A": {Value: strings.Repeat("a", 5000)}}
		j.JobParameter = strings.Repeat("p", 3000)
	})
	row := s.core.views.Audits(search.Audits{Action: "job.register", Limit: 1})[0]
	var after map[string]any
	if err := json.Unmarshal([]byte(row.After), &after); err != nil || len(row.After) > config.AuditSideBytes {
		t.Fatalf("the row is no JSON, or too long: %v, %d bytes: %s", err, len(row.After), row.After)
	}
	if d, _ := after["description"].(string); !strings.HasPrefix(d, "cut: ") {
		t.Errorf("description: %v", after["description"])
	}
	if d, _ := after["env"].(string); d != "cut: 5008 bytes" {
		t.Errorf("env: %v", after["env"])
	}
	if d, _ := after["jobParameter"].(string); len(d) != 3000 || after["jobName"] != "my_job" {
		t.Errorf("a field that fits is cut, too: %s", row.After)
	}
}

// TestA1Search searches with each filter, and checks that pages have no gaps and no repetitions.
func TestA1Search(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	first := s.wall().Truncate(time.Millisecond)
	var rows []event.Audit
	for i := range 30 {
		rows = append(rows, event.Audit{ID: fmt.Sprintf("id-%02d", i),
			Time:   first.Add(time.Duration(i/4) * time.Second),
			Actor:  event.Actor{Name: []string{"alice", "bob"}[i%2]},
			Action: []string{"job.update", "user.add", "app.update"}[i%3], Target: []string{"job", "user", "app"}[i%3],
			TargetName: fmt.Sprint("n", i%5), App: fmt.Sprint("a", i%7)})
	}
	s.step(Request{Token: 1, Event: AuditRequested{Rows: rows}})
	for name, c := range map[string]struct {
		q    search.Audits
		want int
	}{
		"all":    {search.Audits{}, 30},
		"who":    {search.Audits{Who: "bob"}, 15},
		"action": {search.Audits{Action: "user.add"}, 10},
		"target": {search.Audits{Target: "job"}, 10},
		"name":   {search.Audits{TargetName: "n3"}, 6},
		"app":    {search.Audits{App: "a6"}, 4},
		"time":   {search.Audits{From: first.Add(time.Second), Until: first.Add(2 * time.Second)}, 8},
		"two":    {search.Audits{Who: "alice", Target: "app"}, 5},
		"none":   {search.Audits{Who: "carol"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []event.Audit
			for c.q.Limit = 3; ; {
				page := s.core.views.Audits(c.q)
				if got = append(got, page...); len(page) < c.q.Limit {
					break
				}
				last := page[len(page)-1]
				c.q.Before, c.q.BeforeID = last.Time, last.ID
			}
			if len(got) != c.want {
				t.Errorf("%d rows, want %d", len(got), c.want)
			}
			if !slices.IsSortedFunc(got,
				func(a, b event.Audit) int { return b.Time.Compare(a.Time)*2 + strings.Compare(b.ID, a.ID) }) {
				t.Errorf("not the newest first: %+v", got)
			}
		})
	}
}

// TestA1NoSecretOfAURLIsInARow checks that rows hide the secrets in the URL of an app and in the parameter of a
// trigger, as answers to users do.
func TestA1NoSecretOfAURLIsInARow(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	a, err := s.core.views.App("my_app")
	if err != nil {
		t.Fatal(err)
	}
	a.Config.AppURL = "https://me:hush@h/pkg.tar?token=hush"
	s.step(Request{Token: 7, Event: ChangeRequested{Change: config.UpdateApp{Config: a.Config, Version: a.Version}}})
	s.step(ChangeCommitted{Token: 7})
	parameter := "https://me:hush@h/"
	s.step(Request{Token: 8, Event: operator.TriggerRequested{Job: "my_job",
		Overrides: jobs.Overrides{JobParameter: &parameter}}})
	for path, value := range s.stored {
		if strings.HasPrefix(path, store.PathAudit+"/") && strings.Contains(string(value), "hush") {
			t.Errorf("the row at %s contains the secret: %s", path, value)
		}
	}
	for _, row := range s.core.views.Audits(search.Audits{Limit: audit.AuditRows}) {
		if strings.Contains(row.Before+row.After, "hush") {
			t.Errorf("users see the secret in the row of %s: %s %s", row.Action, row.Before, row.After)
		}
	}
}

// TestA1AChangeUndoneInTheSameCommitKeepsItsRow pauses a job that is deleted externally in the same step. Both changes
// have rows, in this order, although the deletion undoes the pause.
func TestA1AChangeUndoneInTheSameCommitKeepsItsRow(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	d := s.step(Request{Token: 1, Event: operator.PauseRequested{Job: "my_job", Paused: true}},
		config.JobChanged{Name: "my_job"})
	if len(d.Replies) != 1 || d.Replies[0].Err != nil {
		t.Fatalf("the pause is refused: %+v", d.Replies)
	}
	var rows []string
	removed := false
	for _, w := range d.Writes {
		if strings.HasPrefix(w.Path, store.PathAudit+"/") {
			var row event.Audit
			if err := json.Unmarshal(w.Value, &row); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row.Action)
		}
		removed = removed || w.Path == store.Under(store.PathJobState, "my_job") && w.Delete
	}
	if want := []string{"job.pause", "job.delete"}; !slices.Equal(rows, want) || !removed {
		t.Errorf("rows %v, want %v; the job's record is removed: %v", rows, want, removed)
	}
}
