package whole_test

import (
	"strings"
	"testing"
)

// TestProgress: the progress that a program reports is shown while it runs. The last progress is shown after its end.
func TestProgress(t *testing.T) {
	m := start(t)
	path, release := m.Hold()
	m.App("a", only(`printf '%s\n' '{"type":"progress","fraction":0.4,"message":"4000 of 10000 rows"}' >&4
while [ -e "$HOLD" ]; do sleep 0.1; done
printf '%s\n' '{"type":"progress","fraction":1,"message":"all rows"}' >&4`), nil)
	m.Job("j", "a", map[string]any{"env": env("HOLD", path)})
	id := m.Trigger("j")
	for _, path := range []string{"/api/execution/" + id, "/api/job/tasks/running", "/api/job/j/explain"} {
		m.Until("progress at "+path, func() string {
			if text := m.OK("GET", path, ""); !strings.Contains(text,
				`"progress":{"fraction":0.4,"message":"4000 of 10000 rows","at":"20`) {
				return text
			}
			return ""
		})
	}
	release()
	m.Await(id, "FINISHED")
	if text := m.OK("GET", "/api/execution/"+id, ""); !strings.Contains(text,
		`"progress":{"fraction":1,"message":"all rows",`) {
		t.Errorf("after its end: %s", text)
	}
}
