package definitions

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/spelling"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// Set contains the definitions of the files, apps before jobs and each kind sorted by name. No two definitions of a
// kind have the same name.
type Set struct {
	All []*Definition
	// Notes are about valid settings that may not be intended.
	Notes []Problem
}

// reader reads files and collects the problems of all of them.
type reader struct {
	now      time.Time
	set      Set
	problems Problems
	defined  map[string]Position // by Definition.String
}

// Read reads the definitions of all files. Its error is of type Problems, and lists all mistakes of all files. Read
// does not check rules that only the server can check, such as whether a job's app exists. A cron that does not fire
// after now results in a note.
func Read(sources []Source, now time.Time) (*Set, error) {
	r := &reader{now: now, defined: map[string]Position{}}
	for _, source := range sources {
		r.readFile(source)
	}
	sortAll(r.set.All)
	return &r.set, r.problems.orNil()
}

// problem records a problem.
func (r *reader) problem(at Position, subject, field, value, format string, args ...any) {
	r.problems = append(r.problems, Problem{at, subject, field, value, fmt.Sprintf(format, args...)})
}

// readFile reads the YAML documents of a file.
func (r *reader) readFile(source Source) {
	if !utf8.Valid(source.Text) {
		r.problem(Position{source.Name, 1}, "", "", "", "the file is not UTF-8 text")
		return
	}
	for decoder := yaml.NewDecoder(bytes.NewReader(source.Text)); ; {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			line, message := document.YAMLError(err)
			r.problem(Position{source.Name, line}, "", "", "", "not YAML: %s", message)
			return
		}
		root := node.Content[0]
		if root.ShortTag() == "!!null" {
			continue // an empty document between two marks
		}
		r.readDefinition(Position{source.Name, root.Line}, root)
	}
}

// readDefinition reads one YAML document, which contains one definition.
func (r *reader) readDefinition(at Position, root *yaml.Node) {
	if root.Kind != yaml.MappingNode {
		r.problem(at, "", "", "", "a definition must be fields such as kind: Job, one per line")
		return
	}
	d := &Definition{At: at, lines: map[string]int{}}
	kind, rest := cutKey(root.Content, "kind")
	disabled, rest := cutKey(rest, "disabled")
	if !r.readKind(d, kind) {
		return
	}
	t := &translator{lines: d.lines}
	if err := t.writeMap("", rest, 0); err != nil {
		r.problem(at, string(d.Kind), "", "", "%s", err.Error())
		return
	}
	bad := d.decode(t.out.Bytes(), r)
	if disabled != nil {
		value := new(bool)
		if disabled.ShortTag() != "!!bool" || disabled.Decode(value) != nil {
			bad = append(bad, document.Violate("disabled", "",
				"must be true or false, or left out to keep it as it is"))
		}
		d.Disabled, d.lines["disabled"] = value, disabled.Line
	}
	slices.SortStableFunc(bad, func(a, b document.Violation) int {
		return cmp.Compare(d.positionOf(a.Field).Line, d.positionOf(b.Field).Line)
	})
	for _, v := range bad {
		r.problem(d.positionOf(v.Field), d.String(), v.Field, v.Value, "%s", v.Message)
	}
	if first, repeated := r.defined[d.String()]; repeated {
		r.problem(at, d.String(), "", "", "is defined twice, first at %s", first)
	}
	r.defined[d.String()] = at
	r.set.All = append(r.set.All, d)
}

// readKind sets the kind of d. If the kind is missing or unknown, it records a problem and returns false.
func (r *reader) readKind(d *Definition, kind *yaml.Node) bool {
	if kind == nil {
		r.problem(d.At, "", "kind", "", "is missing; give kind: App or kind: Job")
		return false
	}
	switch d.Kind = Kind(kind.Value); d.Kind {
	case App, Job:
		return true
	}
	hint := "known are App and Job"
	if near := spelling.Nearest(kind.Value, []string{string(App), string(Job)}); near != "" {
		hint = "did you mean " + near + "?"
	}
	shown := document.Violate("kind", kind.Value, "").Value
	r.problem(Position{d.At.File, kind.Line}, "", "kind", shown, "unknown kind; %s", hint)
	return false
}

// cutKey returns the value of a key in the content of a map, and the content without the key; nil and the whole
// content if the map does not contain the key.
func cutKey(content []*yaml.Node, key string) (value *yaml.Node, rest []*yaml.Node) {
	for i := 0; i+1 < len(content); i += 2 {
		if content[i].Value == key && content[i].Kind == yaml.ScalarNode {
			return content[i+1], slices.Concat(content[:i], content[i+2:])
		}
	}
	return nil, content
}

// decode decodes the document in JSON into d, and returns its violations. It accepts placeholders of secrets, because
// the server may have the secrets. It adds notes to the set of r.
func (d *Definition) decode(body []byte, r *reader) (bad document.Violations) {
	var notes []string
	var err error
	var rules document.Violations
	if d.Kind == App {
		d.App, notes, err = app.Schema.Decode(body, app.Default())
		rules = d.App.Check(app.CheckOptions{AllowFile: true})
		notes = append(notes, d.App.ExposureNotes()...)
	} else {
		var more []string
		d.Job, notes, err = jobs.Schema.Decode(body, jobs.Default())
		rules, more = d.Job.Check(jobs.CheckOptions{Now: r.now})
		notes = append(notes, more...)
	}
	var syntax *document.SyntaxError
	switch {
	case errors.As(err, &bad):
	case errors.As(err, &syntax):
		return document.Violations{{Message: syntax.Message}}
	}
	bad = bad.And(rules)
	for _, note := range notes {
		r.set.Notes = append(r.set.Notes, Problem{At: d.At, Subject: d.String(), Message: note})
	}
	return slices.DeleteFunc(bad, func(v document.Violation) bool { return v.Message == document.PlaceholderMessage })
}

// positionOf returns the position of a field; if it is unknown, that of the field that contains it, or else that of
// the definition.
func (d *Definition) positionOf(field string) Position {
	for path := field; path != ""; {
		if line, ok := d.lines[path]; ok {
			return Position{d.At.File, line}
		}
		path = path[:max(strings.LastIndexByte(path, '.'), 0)]
	}
	return d.At
}

// fromServer decodes a document of a server's answer.
func fromServer(kind Kind, body json.RawMessage) (*Definition, error) {
	d := &Definition{Kind: kind}
	var err error
	if kind == App {
		d.App, _, err = app.Schema.Decode(body, app.Default())
	} else {
		d.Job, _, err = jobs.Schema.Decode(body, jobs.Default())
	}
	if err != nil {
		return nil, fmt.Errorf("read the server's %s %q: %w; use an elasticjob as new as the server", kind.word(),
			cmp.Or(d.Name(), "?"), err)
	}
	if bad := app.CheckName("name", d.Name(), nil); len(bad) > 0 { // the name becomes a part of file paths
		return nil, fmt.Errorf("read the server's %s: %w", d, bad)
	}
	return d, nil
}
