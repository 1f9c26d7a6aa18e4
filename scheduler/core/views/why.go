package views

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// Why is a reason in an answer: in English, and as a code with its arguments. Programs use the code, and so does the
// console, which shows its own text in the user's language. All fields are empty if there is no reason.
type Why struct {
	Reason     string         `json:"reason"`
	ReasonCode string         `json:"reasonCode,omitempty"`
	ReasonArgs map[string]any `json:"reasonArgs,omitempty"`
}

// OptionalWhy is a Why that most answers do not have; its fields are then omitted.
type OptionalWhy struct {
	Reason     string         `json:"reason,omitempty"`
	ReasonCode string         `json:"reasonCode,omitempty"`
	ReasonArgs map[string]any `json:"reasonArgs,omitempty"`
}

// WhyOf returns the Why of a reason; it is empty for the zero Reason.
func WhyOf(r reason.Reason) (v Why) {
	v.Reason, v.ReasonCode, v.ReasonArgs = partsOf(r)
	return v
}

// setFailure sets why the last attempt of the shard ended.
func (v *ShardView) setFailure(r reason.Reason) {
	v.FailureCause, v.FailureCode, v.FailureArgs = partsOf(r)
}

// partsOf splits a reason into its three parts in an answer.
func partsOf(r reason.Reason) (sentence, code string, args map[string]any) {
	return r.String(), string(r.Code()), r.Args()
}

// NotesView has notes about a job or an app: in English and, in the same order, as codes with their arguments.
type NotesView struct {
	Notes       []string   `json:"notes,omitempty"`
	NoteReasons []NoteView `json:"noteReasons,omitempty"`
}

// NoteView is one note as a code with its arguments. A note without a code of its own has the code reason.PlainText.
type NoteView struct {
	Code string         `json:"code"`
	Args map[string]any `json:"args,omitempty"`
}

// Note appends notes, except zero ones.
func (v *NotesView) Note(notes ...reason.Reason) {
	for _, r := range notes {
		if !r.IsZero() {
			text, code, args := partsOf(r)
			v.Notes, v.NoteReasons = append(v.Notes, text), append(v.NoteReasons, NoteView{code, args})
		}
	}
}

// After returns the notes that a check of the document has found, followed by those of v, each note once. A note of
// the check that v has, too, gets the code that it has in v.
func (v NotesView) After(found []string) (all NotesView) {
	for _, text := range slices.Concat(found, v.Notes) {
		switch i := slices.Index(v.Notes, text); {
		case slices.Contains(all.Notes, text):
		case i < 0:
			all.Note(reason.FromText(text))
		default:
			all.Notes, all.NoteReasons = append(all.Notes, text), append(all.NoteReasons, v.NoteReasons[i])
		}
	}
	return all
}

// texts turns notes without codes into reasons.
func texts(notes []string) []reason.Reason {
	reasons := make([]reason.Reason, len(notes))
	for i, text := range notes {
		reasons[i] = reason.FromText(text)
	}
	return reasons
}
