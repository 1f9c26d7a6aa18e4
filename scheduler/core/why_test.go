package core

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// TestNotesHaveTheirCodes checks that each note has the same index as its code, and that After puts the notes of a
// check first.
func TestNotesHaveTheirCodes(t *testing.T) {
	t.Parallel()
	var v views.NotesView
	ignored, other := reason.FromText("ignored"), reason.FromText("found")
	never, late := reason.CronNeverFires("CRON", false), reason.ClockBehind(time.Time{})
	v.Note(ignored, reason.Reason{}, never, late)
	for name, c := range map[string]struct {
		found []string
		want  []reason.Reason
	}{
		"nothing":         {nil, []reason.Reason{ignored, never, late}},
		"something else":  {[]string{"found", "found"}, []reason.Reason{other, ignored, never, late}},
		"the same":        {[]string{never.String()}, []reason.Reason{never, ignored, late}},
		"all in reverse":  {[]string{late.String(), never.String(), "ignored"}, []reason.Reason{late, never, ignored}},
		"between the two": {[]string{"ignored", "found"}, []reason.Reason{ignored, other, never, late}},
	} {
		var want views.NotesView
		want.Note(c.want...)
		if diff := cmp.Diff(want, v.After(c.found)); diff != "" {
			t.Errorf("found %s: %s", name, diff)
		}
	}
	if none := (views.NotesView{}).After(nil); none.Notes != nil || none.NoteReasons != nil {
		t.Errorf("without notes, After returns %+v", none)
	}
	if text := v.NoteReasons[0]; text.Code != "text" || text.Args != nil {
		t.Errorf("the code of a text is %+v", text)
	}
}
