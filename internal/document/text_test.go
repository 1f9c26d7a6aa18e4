package document_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

type withTexts struct {
	Name string         `json:"name"`
	Env  document.Texts `json:"env,omitempty"`
}

// A plain text is a scalar, as in the original; all others are objects.
func TestTextsAreWritten(t *testing.T) {
	t.Parallel()
	s := document.MustSchema[withTexts]("name", nil)
	c := withTexts{Name: "x", Env: document.Texts{
		"A": {Value: "<plain>"}, "B": {Value: "hidden: yes", Secret: true}, "C": {FromFile: "/s/c"}, "D": {FromEnv: "D"}, "E": {}, "F": {Secret: true},
	}}
	const inYAML = "env:\n  A: <plain>\n  B:\n    value: 'hidden: yes'\n    secret: true\n  C:\n    fromFile: /s/c\n  D:\n    fromEnv: D\n  E: ''\n  F:\n    value: ''\n    secret: true\nname: x\n"
	if diff := cmp.Diff(inYAML, string(s.EncodeYAML(c))); diff != "" {
		t.Error(diff)
	}
	const inJSON = `{"name":"x","env":{"A":"\u003cplain\u003e","B":{"value":"hidden: yes","secret":true},"C":{"fromFile":"/s/c"},"D":{"fromEnv":"D"},"E":"","F":{"value":"","secret":true}}}`
	text, err := json.Marshal(c)
	if diff := cmp.Diff(inJSON, string(text)); err != nil || diff != "" {
		t.Error(err, diff)
	}
	var again withTexts
	if err := json.Unmarshal(text, &again); err != nil || !cmp.Equal(c, again) {
		t.Error(err, cmp.Diff(c, again))
	}
	for _, doc := range []string{inYAML, inJSON,
		"name: x\nenv: {A: <plain>, B: {value: 'hidden: yes', secret: yes}, C: {fromFile: /s/c}, D: {fromEnv: D}, E: '', F: {value: '', secret: true}, G: ~}\n"} {
		got, notes, err := s.DecodeStored([]byte(doc))
		if diff := cmp.Diff(c, got); err != nil || len(notes) > 0 || diff != "" {
			t.Errorf("%s: %v %v %s", doc, err, notes, diff)
		}
	}
	got, _, err := s.Decode([]byte(inJSON), withTexts{})
	if diff := cmp.Diff(c, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if got, _, err = s.Decode([]byte(`{"env":{"A":{"value":"a","secret":false}}}`), withTexts{}); err != nil ||
		got.Env["A"] != (document.Text{Value: "a"}) {
		t.Errorf("%+v %v", got, err)
	}
}

// The error for a document that was edited in a registry lists all violations, without possible secrets.
func TestStoredTextsAreRefused(t *testing.T) {
	t.Parallel()
	s := document.MustSchema[withTexts]("name", nil)
	_, _, err := s.DecodeStored([]byte("name: x\nenv:\n  A: {Value: hunter2}\n  B: {fromFile: [/x]}\n  C: {secret: hunter2, value: x}\n  D: [hunter2]\n  E: {}\n  F: {value: {a: hunter2}}\n"))
	var bad document.Violations
	if !errors.As(err, &bad) || strings.Contains(err.Error(), "hunter2") {
		t.Fatal(err)
	}
	var got []string
	for _, v := range bad {
		got = append(got, v.Field+": "+v.Message)
	}
	want := []string{"env.A.Value: unknown key; did you mean value?", "env.B.fromFile: a string is expected",
		"env.C.secret: true or false is expected",
		"env.D: a string is expected", "env.E: give one of value, fromFile and fromEnv",
		"env.F.value: a string is expected"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, _, err := s.DecodeStored([]byte("name: x\nenv: https://me:hunter2@h/x\n")); err == nil ||
		strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}
