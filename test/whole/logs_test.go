package whole_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestLogs reads a task's output while it runs and after it has ended.
func TestLogs(t *testing.T) {
	m := start(t, "--executor-idle", "0")
	path, release := m.Hold()
	m.App("a", only(`echo first; echo wrong >&2; while [ -e "$HOLD" ]; do sleep 0.05; done; echo "last ü"`), nil)
	m.Job("j", "a", system.Doc{"env": env("HOLD", path)})
	id := m.Trigger("j")
	task := m.AwaitShards(id, "RUNNING").Shards[0].TaskID

	live := m.Stream("/api/task/" + task + "/logs?follow=true")
	defer func() { _ = live.Close() }() // it was only read
	lines := bufio.NewReader(live)
	if line, err := lines.ReadString('\n'); line != "first\n" || err != nil {
		t.Errorf("live: %q, %v", line, err)
	}
	for query, want := range map[string]string{
		"": "first\n", "stream=stderr": "wrong\n", "offset=2": "rst\n", "offset=6": "", "offset=100": "",
	} {
		if got := m.Logs(task, query); got != want {
			t.Errorf("logs?%s while it runs: %q, want %q", query, got, want)
		}
	}
	release()
	if rest, err := io.ReadAll(lines); string(rest) != "last ü\n" || err != nil {
		t.Errorf("live, the rest: %q, %v", rest, err)
	}
	m.Await(id, "FINISHED")
	m.Until("its executor is gone", func() string { return strings.Trim(fmt.Sprint(m.Executors()), "[]") })
	whole := "first\nlast ü\n"
	for query, want := range map[string]string{
		"": whole, "follow=true": whole, "stream=stderr": "wrong\n", "offset=6": "last ü\n", "offset=14": "",
		"offset=99&follow=true": "", "tail=8": "last ü\n", "tail=4": " ü\n", "offset=6&limit=4": "last",
	} {
		if got := m.Logs(task, query); got != want {
			t.Errorf("logs?%s when it has ended: %q, want %q", query, got, want)
		}
	}
	for query, field := range map[string]string{"stream=stdin": "stream", "offset=-1": "offset", "offset=x": "offset",
		"follow=perhaps": "follow", "tail=-1": "tail", "page=1": "page"} {
		if said := m.Refused(400, "bad_query", "GET", "/api/task/"+task+"/logs?"+query, ""); len(said.Fields) != 1 ||
			said.Fields[0].Field != field {
			t.Errorf("logs?%s: %+v", query, said)
		}
	}
	m.Refused(404, "task_not_found", "GET", "/api/task/"+task+"x/logs", "")

	// A task without output says why, and output that was removed is gone.
	m.App("none", nil, nil)
	m.Job("none", "none", nil)
	if a := m.Call("GET", "/api/task/"+m.Run("none", "FAILED").Shards[0].TaskID+"/logs", ""); a.Status != 410 {
		t.Errorf("output of a task that never began: %d %s", a.Status, a.Body)
	}
	removeOutput(t, m)
	m.Refused(410, "log_gone", "GET", "/api/task/"+task+"/logs", "")
	m.Refused(410, "log_gone", "GET", "/api/task/"+task+"/logs?follow=true", "")
}

// removeOutput removes the output of all tasks, as a user may do who needs the disk space.
func removeOutput(t *testing.T, m *system.Machine) {
	t.Helper()
	err := filepath.WalkDir(m.Dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && (entry.Name() == "stdout" || entry.Name() == "stderr") &&
			strings.Contains(path, "/tasks/") {
			return os.Remove(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLogsOfALargeOutput: no line is lost or duplicated between two pages.
func TestLogsOfALargeOutput(t *testing.T) {
	m := start(t)
	m.App("a", only(`seq 1 200000`), nil)
	m.Job("j", "a", nil)
	task := m.Run("j", "FINISHED").Shards[0].TaskID
	var want strings.Builder
	for i := 1; i <= 200000; i++ {
		fmt.Fprintln(&want, i)
	}
	if got := m.Logs(task, ""); got != want.String() {
		t.Errorf("%d bytes, want %d", len(got), want.Len())
	}
	if got := m.Logs(task, "offset=1000000"); got != want.String()[1000000:] {
		t.Errorf("from 1000000: %d bytes", len(got))
	}
}
