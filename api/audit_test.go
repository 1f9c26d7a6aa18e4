package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/history/event"
)

func auditAt(n int) event.Audit {
	return event.Audit{ID: fmt.Sprintf("id-%02d", n), Time: noon.Add(time.Duration(n/3) * time.Second),
		Actor:  event.Actor{Name: []string{"alice", "bob"}[n%2], Kind: "user", From: "10.0.0.7"},
		Action: "job.update", Target: "job", TargetName: "my_job", App: "my_app", Before: `{"cron":""}`,
		After: `{"cron":"0 0 3 * * ?"}`}
}

type auditAnswer struct {
	Rows []struct{ ID, Who string }
	Next string
}

// TestAudit: a row has all of its fields as readable JSON, whatever the database returns for them.
func TestAudit(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	cut := event.Audit{ID: "id-99", Time: noon.Add(-time.Hour), Action: "app.delete", Target: "app", TargetName: "a",
		Before: `{"cut`}
	b.audits = []event.Audit{cut, auditAt(0)}
	server := start(t, api.Options{Scheduler: b})
	want := `{"rows":[{"id":"id-00","time":"2026-05-01T12:00:00Z","who":"alice","kind":"user","from":"10.0.0.7","action":"job.update","target":"job","targetName":"my_job","app":"my_app",` +
		`"before":{"cron":""},"after":{"cron":"0 0 3 * * ?"}},` +
		`{"id":"id-99","time":"2026-05-01T11:00:00Z","who":"","kind":"","from":"","action":"app.delete","target":"app","targetName":"a","app":"","before":"{\"cut","after":null}]}`
	if answer, got := call(t, server, "GET", "/api/audit", ""); answer.StatusCode != http.StatusOK ||
		got != want+"\n" {
		t.Errorf("got %d %s, want %s", answer.StatusCode, got, want)
	}
	for query, n := range map[string]int{
		"who=alice": 1, "who=bob": 0, "action=app.delete": 1, "target=app": 1, "target=my_job": 1, "target=a": 1,
		"app=my_app": 1, "app=": 2,
		"startTime=2026-05-01 12:00:00": 1, "endTime=2026-05-01T11:59:00Z": 1, "startTime=2026-05-02T00:00:00Z": 0,
		"limit=1": 1,
	} {
		name, value, _ := strings.Cut(query, "=")
		_, got := call(t, server, "GET", "/api/audit?"+url.Values{name: {value}}.Encode(), "")
		var a auditAnswer
		if err := json.Unmarshal([]byte(got), &a); err != nil || a.Rows == nil || len(a.Rows) != n {
			t.Errorf("%s: %s, %v, want %d rows", query, got, err, n)
		}
	}
}

// TestAuditPages: the rows that the scheduler keeps overlap with the stored ones. Each row comes exactly once and in
// order, in pages of any size.
func TestAuditPages(t *testing.T) {
	t.Parallel()
	const rows = 40
	b, h := newFakeScheduler(), &fakeHistory{}
	for n := range rows {
		if n < 30 {
			h.audits = append(h.audits, auditAt(n))
		}
		if n%4 == 0 || n >= 30 {
			b.audits = append(b.audits, auditAt(n))
		}
	}
	server := start(t, api.Options{Scheduler: b, History: h})
	for _, limit := range []int{1, 7, 40, 41} {
		var got []string
		for cursor, pages := "", 0; pages <= rows+1; pages++ {
			_, text := call(t, server, "GET", fmt.Sprintf("/api/audit?limit=%d&cursor=%s", limit, cursor), "")
			var a auditAnswer
			if err := json.Unmarshal([]byte(text), &a); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			for _, r := range a.Rows {
				got = append(got, r.ID)
			}
			if cursor = a.Next; cursor == "" {
				break
			}
		}
		if len(got) != rows {
			t.Fatalf("in pages of %d there are %d rows: %v", limit, len(got), got)
		}
		for i, id := range got {
			if want := auditAt(rows - 1 - i).ID; id != want {
				t.Errorf("in pages of %d row %d is %s, want %s", limit, i, id, want)
			}
		}
	}
	// Without the database the answer has only the rows that the scheduler keeps, and says so.
	h.fails = errDown
	answer, text := call(t, server, "GET", "/api/audit?limit=1000", "")
	var a auditAnswer
	if err := json.Unmarshal([]byte(text), &a); err != nil || len(a.Rows) != len(b.audits) ||
		!strings.Contains(answer.Header.Get("Warning"), "connection refused") {
		t.Errorf("%s, %v, %v", text, err, answer.Header)
	}
}

func TestBadQuestionsAboutAudit(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler()})
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=1001": "limit", "limit=x": "limit", "cursor=x": "cursor", "cursor=!!": "cursor",
		"cursor=OTk5OTk5OTk5OTk5OTk5OTk5IHg": "cursor",
		"startTime=noon":                     "startTime",
		"startTime=2026-05-02T00:00:00Z&endTime=2026-05-01T00:00:00Z": "endTime", "who=%ff": "who",
		"nosuch=1":                            "nosuch",
		"target=" + strings.Repeat("x", 1001): "target",
	} {
		answer, text := call(t, server, "GET", "/api/audit?"+query, "")
		if e := readError(t, answer, text); answer.StatusCode != http.StatusBadRequest || len(e.Error.Fields) != 1 ||
			e.Error.Fields[0].Field != field {
			t.Errorf("%s: %d %s", query, answer.StatusCode, text)
		}
	}
}
