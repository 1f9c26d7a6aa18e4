package views

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/reason"
)

// Why says why something is as it is: in English, and as a code with its arguments, by which programs decide and the
// console finds the words of its reader's language. All are empty where there is no reason.
type Why struct {
	Reason     string         `json:"reason"`
	ReasonCode string         `json:"reasonCode,omitempty"`
	ReasonArgs map[string]any `json:"reasonArgs,omitempty"`
}

// OptionalWhy is Why where there is none for most.
type OptionalWhy struct {
	Reason     string         `json:"reason,omitempty"`
	ReasonCode string         `json:"reasonCode,omitempty"`
	ReasonArgs map[string]any `json:"reasonArgs,omitempty"`
}

func WhyOf(r reason.Reason) (v Why) {
	v.Reason, v.ReasonCode, v.ReasonArgs = inAnswer(r)
	return v
}

func (v *ShardView) setFailure(r reason.Reason) {
	v.FailureCause, v.FailureCode, v.FailureArgs = inAnswer(r)
}

// inAnswer is what an answer has of a reason.
func inAnswer(r reason.Reason) (sentence, code string, args map[string]any) {
	return r.String(), string(r.Code()), r.Args()
}

// NotesView are notes on a job or an app: in English and, in the same order, as codes with their arguments.
type NotesView struct {
	Notes       []string   `json:"notes,omitempty"`
	NoteReasons []NoteView `json:"noteReasons,omitempty"`
}

// NoteView is one note as a code with its arguments.
type NoteView struct {
	Code string         `json:"code"`
	Args map[string]any `json:"args,omitempty"`
}

// note appends notes, but those that are none.
func (v *NotesView) Note(notes ...reason.Reason) {
	for _, r := range notes {
		if !r.IsZero() {
			text, code, args := inAnswer(r)
			v.Notes, v.NoteReasons = append(v.Notes, text), append(v.NoteReasons, NoteView{code, args})
		}
	}
}

// After puts notes that somebody found in a document in front, and has each note once: the core repeats what a check
// of the document found, with a code for it.
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

// texts are notes in words of their own.
func texts(notes []string) []reason.Reason {
	said := make([]reason.Reason, len(notes))
	for i, text := range notes {
		said[i] = reason.FromText(text)
	}
	return said
}
