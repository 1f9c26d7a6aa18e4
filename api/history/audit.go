package history

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// AuditRow is one change made through the API, for admins.
type AuditRow struct {
	ID         string          `json:"id"`
	Time       time.Time       `json:"time"`
	Who        string          `json:"who"`
	Kind       string          `json:"kind"`
	From       string          `json:"from"`
	Action     string          `json:"action"`
	Target     string          `json:"target"`
	TargetName string          `json:"targetName"`
	App        string          `json:"app"`
	Before     json.RawMessage `json:"before"`
	After      json.RawMessage `json:"after"`
}

// ChangeRow is one change of a job, for callers who may see the job. It has no address, because only admins may see
// where a change came from.
type ChangeRow struct {
	ID     string          `json:"id"`
	Time   time.Time       `json:"time"`
	Who    string          `json:"who"`
	Kind   string          `json:"kind"`
	Action string          `json:"action"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// audit lists the changes that users have made, the newest first.
func (h *Handlers) audit(c *gin.Context) (any, error) {
	q, _, err := parseQuery(c, search.ParseAudits)
	if err != nil {
		return nil, err
	}
	rows, err := h.auditRows(c, q)
	return auditAnswer(q, rows, err, func(r event.Audit) AuditRow {
		return AuditRow{r.ID, r.Time, r.Name, r.Kind, r.From, r.Action, r.Target, r.TargetName, r.App,
			fieldsOrNull(r.Before), fieldsOrNull(r.After)}
	})
}

// jobChanges lists the changes that users have made to a job, the newest first. A caller with a grant for some apps
// sees only the changes from times when the job belonged to one of these apps. The change that moved the job into such
// an app is shown without the fields from before the move.
func (h *Handlers) jobChanges(c *gin.Context) (any, error) {
	name, err := request.PathName("job")(c)
	if err != nil {
		return nil, err
	}
	q, _, err := parseQuery(c, search.ParseAudits)
	if err != nil {
		return nil, err
	}
	who := caller.Of(c.Request.Context())
	q.Target, q.TargetName, q.May = "job", name, who.Covers
	rows, err := h.auditRows(c, q)
	if err == nil && len(rows) == 0 && q.Before.IsZero() {
		// Without any row, the job must exist. A removed job still has rows.
		_, err = caller.ReadWith(c.Request.Context(), h.Scheduler, explain.Reader.Job, name)
	}
	return auditAnswer(q, rows, err, func(r event.Audit) ChangeRow {
		return ChangeRow{r.ID, r.Time, r.Name, r.Kind, r.Action, beforeFor(who, r.Before), fieldsOrNull(r.After)}
	})
}

// beforeFor returns the fields that a job had before a change. It returns nil if the change moved the job from an app
// that the caller may not see, or if that cannot be determined.
func beforeFor(who caller.Caller, before string) json.RawMessage {
	var fields struct {
		AppName string `json:"appName"`
	}
	unreadable := before != "" && json.Unmarshal([]byte(before), &fields) != nil
	if who.IsRestricted() && (unreadable || fields.AppName != "" && !who.Covers(fields.AppName)) {
		return nil
	}
	return fieldsOrNull(before)
}

// auditRows returns a page of the audit: the rows that the scheduler still keeps, and those of the history. If the
// history cannot be read, the header Warning says so.
func (h *Handlers) auditRows(c *gin.Context, q search.Audits) ([]event.Audit, error) {
	// The scheduler is read first. It drops a row only after the row was stored, so no row is missing from both.
	rows, err := caller.ReadWith(c.Request.Context(), h.Scheduler, explain.Reader.Audits, q)
	if err != nil {
		return nil, err
	}
	if h.History != nil {
		ctx, cancel := context.WithTimeout(c.Request.Context(), ReadTimeout)
		defer cancel()
		stored, err := h.History.Audits(ctx, q)
		if err != nil {
			answer.Warn(c, "these are only the rows that are not stored yet: "+Unreadable(err).Error())
		}
		rows = append(rows, stored...)
	}
	return q.Page(rows), nil
}

// auditAnswer returns the answer with a page of rows, each converted by convert. It passes err through.
func auditAnswer[R any](q search.Audits, rows []event.Audit, err error, convert func(event.Audit) R) (any, error) {
	page := search.Page[R]{Rows: make([]R, len(rows))}
	for i, r := range rows {
		page.Rows[i] = convert(r)
	}
	if len(rows) == q.Limit {
		page.Next = q.Next(&rows[len(rows)-1])
	}
	return page, err
}

// fieldsOrNull returns the JSON text of a row's fields, or null if the text is empty. A text that is not JSON becomes
// a JSON string, because a database may have cut the text.
func fieldsOrNull(text string) json.RawMessage {
	switch {
	case text == "":
		return json.RawMessage("null")
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // cannot fail for a string
	return quoted
}
