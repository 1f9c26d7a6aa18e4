package scheduler

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

func TestMissedAndDroppedFiresAreOneLineASecond(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := newNoteLog(slog.New(slog.NewTextHandler(&out, nil)))
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for tenth := range 30 { // three seconds
		var notes []step.Note
		for i := range 100 {
			notes = append(notes, step.Note{Kind: step.NoteFiresMissed, Job: fmt.Sprint("job", i)})
		}
		notes = append(notes, step.Note{Kind: step.NoteExecutionCreated, Job: "other"})
		l.write(now.Add(time.Duration(tenth)*100*time.Millisecond), notes)
	}
	l.write(now.Add(10*time.Second), nil)
	lines := map[string]int{}
	for line := range strings.Lines(out.String()) {
		_, text, _ := strings.Cut(line, "msg=")
		lines[strings.TrimSpace(text)]++
	}
	want := map[string]int{`"fires missed" job=job0`: 3, `"fires missed, more omitted" count=999`: 3,
		`"execution created" job=other`: 30}
	for text, n := range want {
		if lines[text] != n {
			t.Errorf("%d lines %s, want %d", lines[text], text, n)
		}
	}
	if len(lines) != len(want) {
		t.Errorf("lines: %v", lines)
	}
}
