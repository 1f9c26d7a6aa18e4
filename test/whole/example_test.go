package whole_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestExample: the built-in example can be published, checked, registered and run as the server offers it.
func TestExample(t *testing.T) {
	m := start(t)
	var example struct {
		App  json.RawMessage
		Jobs []json.RawMessage
	}
	m.Get("/api/example", &example)
	if len(example.Jobs) != 1 {
		t.Fatalf("%d jobs", len(example.Jobs))
	}
	if text := m.OK("POST", "/api/app?check=true", string(example.App)); !strings.Contains(text,
		`"script":{"path":"bin/hello.sh","found":true,"executable":true,"interpreter":"/bin/sh"},"problems":[]`) {
		t.Error(text)
	}
	job := string(example.Jobs[0])
	var check struct {
		Notes     []string
		Cron      struct{ Words string }
		Placement struct {
			Fits   bool
			Reason string
		}
	}
	if err := json.Unmarshal([]byte(m.OK("POST", "/api/job/check", job)), &check); err != nil ||
		len(check.Notes) > 0 || check.Cron.Words != "every 30 seconds" {
		t.Errorf("%+v: %v", check, err)
	}
	m.OK("POST", "/api/job/register", job)
	m.OK("PUT", "/api/job/update", `{"jobName":"hello","cron":null}`) // it runs only when triggered

	var triggered struct{ ExecutionID string }
	if err := json.Unmarshal([]byte(m.OK("POST", "/api/job/hello/trigger", `{"jobParameter":"fail"}`)),
		&triggered); err != nil {
		t.Fatal(err)
	}
	m.Until("progress", func() string {
		text := m.OK("GET", "/api/execution/"+triggered.ExecutionID, "")
		if !strings.Contains(text, `of 10 seconds`) {
			return text
		}
		return ""
	})
	// An agent is known by now, and so are its free resources.
	if err := json.Unmarshal([]byte(m.OK("POST", "/api/job/check?update=true", `{"jobName":"hello"}`)),
		&check); err != nil || !check.Placement.Fits {
		t.Errorf("%+v: %v", check, err)
	}
	e := m.Await(triggered.ExecutionID, "FAILED")
	for _, s := range e.Shards {
		want := "FINISHED"
		if s.Item == 2 {
			want = "FAILED"
		}
		text := m.Logs(s.TaskID, "")
		if string(s.State) != want || !strings.Contains(text, "\x1b[1;36mHello from shard ") ||
			!strings.Contains(text, "\x1b[32m10\x1b[0m of 10") {
			t.Errorf("shard %d is %s: %q", s.Item, s.State, text)
		}
	}
	first, err := m.Try("GET", "/artifacts/example.tar.gz", "")
	again, err2 := m.Try("GET", "/artifacts/example.tar.gz", "")
	if err != nil || err2 != nil || first.Status != http.StatusOK || first.Body != again.Body {
		t.Errorf("the package: %d, %v, %v", first.Status, err, err2)
	}
}
