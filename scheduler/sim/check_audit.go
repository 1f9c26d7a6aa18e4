package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	historyevent "github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

const pathAudit = "/scheduler/audit"

// byUser is the requester of everything that is requested in a world.
var byUser = historyevent.Actor{Name: "somebody", Kind: "user", From: "10.0.0.7"}

// audits checks rule A1: the audit rows of each commit describe exactly the changes by people in that commit, whatever
// crashes before and after it. The check compares the rows with the committed state and with the external edits that
// the leader has read.
type audits struct {
	w *world
	// docs are the last usable documents that the leader has read, by path.
	docs map[string]string
	// marks are the disabled marks that the leader has read, by path.
	marks map[string]string
	// faulty are the paths of unusable documents.
	faulty map[string]bool
	// edits are the rows of external edits that the leader has read. The commit of its next step must contain them,
	// unlike the commit of a change of configuration.
	edits []string
	// editsOfStep are those of the step whose commit is checked.
	editsOfStep []string
	// ever are all committed rows by id. unstored are those that have not reached the history yet.
	unstored, ever map[string]string
	// kept are the ids of the rows in the registry. paths are the same ids by path.
	kept  map[string]bool
	paths map[string]string
	// outbox are rows of changes that the leader does not make, such as changes of users.
	outbox []historyevent.Audit
	made   int // the number of rows that were ever added to outbox
}

func newAudits(w *world) *audits {
	return &audits{w: w, unstored: map[string]string{}, ever: map[string]string{}, kept: map[string]bool{},
		paths: map[string]string{}}
}

// begin schedules changes that the leader does not make, and moves their rows to the leader, as the shell does.
func (a *audits) begin() {
	a.w.after(a.w.between(time.Second, time.Minute), a.change)
	a.w.after(time.Second, a.move)
}

func (a *audits) change() {
	if w := a.w; !w.calm {
		a.made++
		a.outbox = append(a.outbox, historyevent.Audit{ID: fmt.Sprint("beside-", a.made), Time: w.wall(),
			Actor: byUser, Action: "user.add", Target: "user", TargetName: fmt.Sprint("user", a.made)})
		w.after(w.between(0, 2*time.Minute), a.change)
	}
}

func (a *audits) move() {
	w := a.w
	w.after(time.Second, a.move)
	if l := w.leading; l != nil && !l.dead && len(a.outbox) > 0 {
		rows := slices.Clone(a.outbox)
		l.request(core.AuditRequested{Rows: rows},
			func(r core.Reply) {
				if r.Err != nil || w.chance(0.2) { // sometimes the rows cannot be removed from the outbox now
					return
				}
				a.outbox = slices.DeleteFunc(a.outbox, func(row historyevent.Audit) bool {
					return slices.ContainsFunc(rows, func(taken historyevent.Audit) bool { return taken.ID == row.ID })
				})
				for _, row := range rows {
					if a.ever[row.ID] == "" {
						w.fail("A1 a row that is taken is committed", "%s", row.ID)
					}
				}
			})
	}
}

// usable returns a document as the leader would write it, and whether it can be used.
func usable(path string, value []byte) (string, bool) {
	var doc any
	var err error
	if dir, _ := splitPath(path); dir == pathApps {
		doc, _, err = app.Schema.Decode(value, app.Default())
	} else {
		doc, _, err = jobs.Schema.Decode(value, jobs.Default())
	}
	text, _ := json.Marshal(doc)
	return string(text), err == nil
}

func markAt(path string, value []byte) string {
	if dir, _ := splitPath(path); dir == pathJobDisabled && string(value) == "shutdown" {
		return "shutdown"
	}
	return "disable"
}

// load records the state that a new leader finds. Earlier external edits have no rows.
func (a *audits) load(entries []registry.Entry) {
	a.docs, a.marks, a.faulty, a.edits = map[string]string{}, map[string]string{}, map[string]bool{}, nil
	for _, e := range entries {
		a.recordRead(e.Path, e, true)
	}
	a.edits = nil
}

// recordRead records that the leader has read the present entry at a path, or that there is none.
func (a *audits) recordRead(path string, e registry.Entry, exists bool) {
	switch dir, name := splitPath(path); dir {
	case pathApps, pathJobs:
		doc, good := usable(path, e.Value)
		if exists && !good {
			a.faulty[path] = true
			return
		}
		if !exists {
			doc = ""
		}
		if what := a.documentRow(path, doc); what != "" && (exists || a.docs[path] != "" || a.faulty[path]) {
			a.edits = append(a.edits, what)
		}
		a.setDocument(path, doc)
	case pathAppDisabled, pathJobDisabled:
		now := ""
		if exists {
			now = markAt(path, e.Value)
		}
		if a.marks[path] != now {
			a.edits = append(a.edits, markRow(dir, name, now))
		}
		a.marks[path] = now
	}
}

// documentRow returns the row of a changed document, "" for none.
func (a *audits) documentRow(path, doc string) string {
	dir, name := splitPath(path)
	kind := strings.TrimPrefix(dir, "/config/")
	switch was := a.docs[path]; {
	case doc == "":
		return kind + ".delete " + name
	case was == "":
		return kind + ".register " + name
	case was != doc:
		return kind + ".update " + name
	}
	return ""
}

func (a *audits) setDocument(path, doc string) {
	delete(a.faulty, path)
	if a.docs[path] = doc; doc == "" {
		delete(a.docs, path)
	}
}

func markRow(dir, name, now string) string {
	if now == "" {
		now = "enable"
	}
	return strings.TrimPrefix(dir, "/state/disable/") + "." + now + " " + name
}

// committed compares the rows of a commit with its changes. The checker's state is still that before the commit.
func (a *audits) committed(c term.Commit) {
	var byUsers, external []string
	pausing := map[string][]string{} // by job: the actions that change whether the job is paused, in order
	for i := range c.Writes {
		wr := &c.Writes[i]
		if dir, _ := splitPath(wr.Path); dir != pathAudit {
			continue
		}
		if wr.Delete {
			delete(a.kept, a.paths[wr.Path])
			delete(a.paths, wr.Path)
			continue
		}
		var row historyevent.Audit
		if err := json.Unmarshal(wr.Value, &row); err != nil || row.ID == "" || row.Time.IsZero() {
			a.w.fail("A1 a row can be read", "%s: %v", wr.Value, err)
		}
		if a.kept[row.ID] {
			a.w.fail("A1 a row stands once", "%s is in the registry, and is also put at %s", row.ID, wr.Path)
		}
		a.kept[row.ID], a.paths[wr.Path] = true, row.ID
		a.keep(row, string(wr.Value))
		what := row.Action + " " + row.TargetName
		switch row.Action {
		case "job.pause", "job.resume", "job.disable", "job.shutdown", "job.enable", "job.delete":
			pausing[row.TargetName] = append(pausing[row.TargetName], row.Action)
		}
		switch {
		case row.Kind == "registry":
			external = append(external, what)
		case row.Actor != byUser:
			a.w.fail("A1 a row says who it was", "%s", wr.Value)
		case row.Action == "job.trigger":
			var after struct{ Execution string }
			_ = json.Unmarshal([]byte(row.After), &after)
			if !strings.HasPrefix(after.Execution, row.TargetName+"@") {
				a.w.fail("A1 a row names what it is about", "%s", wr.Value)
			}
			byUsers = append(byUsers, "job.trigger "+after.Execution)
		default:
			byUsers = append(byUsers, what)
		}
	}
	want := a.edits
	a.editsOfStep = a.edits
	if c.Change {
		a.compareRows("configuration", byUsers, a.configured(c.Writes))
		want = nil
	} else {
		a.checkOperated(c.Writes, byUsers, pausing)
		a.edits = nil
	}
	a.compareRows("external edits", external, want)
}

func (a *audits) compareRows(of string, rows, want []string) {
	slices.Sort(rows)
	slices.Sort(want)
	if !slices.Equal(rows, want) {
		a.w.fail("A1 a commit has the rows of what it changes", "%s: rows %q, changes %q", of, rows, want)
	}
}

// keep records a committed row.
func (a *audits) keep(row historyevent.Audit, text string) {
	if was := a.ever[row.ID]; was != "" && (was != text || !strings.HasPrefix(row.ID, "beside-")) {
		a.w.fail("A1 a row stands once", "%s, and before %s", text, was)
	}
	a.ever[row.ID], a.unstored[row.ID] = text, text
}

// checkForgotten checks, when a commit removes a row from the registry, that the row is stored in the history, or was
// lost because a disk was full.
func (a *audits) checkForgotten(entry registry.Entry) {
	var row historyevent.Audit
	_ = json.Unmarshal(entry.Value, &row)
	key := "audit " + row.ID
	if _, stored := a.w.history.rows[key]; !stored && !a.w.history.lost[key] {
		a.w.fail("A1 a row stays in the registry until it is stored", "%s", entry.Value)
	}
}

// missing returns a row that has not reached the history yet, or "".
func (a *audits) missing() string {
	if len(a.outbox) > 0 {
		return "audit row " + a.outbox[0].ID + ", which is still in the outbox"
	}
	for _, id := range sorted(a.unstored) {
		if _, stored := a.w.history.rows["audit "+id]; !stored && !a.w.history.lost["audit "+id] {
			return "audit row " + a.unstored[id]
		}
		delete(a.unstored, id)
	}
	return ""
}
