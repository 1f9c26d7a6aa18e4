package definitions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/secrets"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// values are the fields of a document as JSON, by name. Fields that say nothing may be left out, as documents leave
// them out.
type values map[string]json.RawMessage

// fields are the names of all fields of a kind, in the order in which people read them.
func (k Kind) fields() []string {
	if k == App {
		return app.Schema.Fields()
	}
	return jobs.Schema.Fields()
}

// defaults are the fields of a document in which nothing was given.
func (k Kind) defaults() values {
	if k == App {
		return (&Definition{Kind: App, App: app.Default()}).values()
	}
	return (&Definition{Kind: Job, Job: jobs.Default()}).values()
}

func (d *Definition) values() values {
	var doc any = d.App
	if d.Kind == Job {
		doc = d.Job
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // what people are shown has no < for <
	_ = encoder.Encode(doc)      // documents hold nothing that can't be encoded
	return entries(out.Bytes())
}

// entries are the members of an object, none of anything else.
func entries(object json.RawMessage) values {
	all := values{}
	if len(object) > 0 && object[0] == '{' {
		_ = json.Unmarshal(object, &all) // it was encoded a moment before
	}
	return all
}

// leaves adds what stands at each path of a nested value, such as spec.containers[0].name.
func (v values) leaves(path string, value json.RawMessage) {
	var list []json.RawMessage
	switch object := entries(value); {
	case len(object) > 0:
		for name, of := range object {
			v.leaves(strings.TrimPrefix(path+"."+name, "."), of)
		}
	case json.Unmarshal(value, &list) == nil && len(list) > 0:
		for i, of := range list {
			v.leaves(fmt.Sprintf("%s[%d]", path, i), of)
		}
	case value != nil:
		v[path] = value
	}
}

// Difference is a field, an entry of env or props, or a place in podTemplate, that is another one on the server. Old
// and New are JSON; "" is none.
type Difference struct{ Field, Old, New string }

// isMap reports whether a field has entries of its own.
func isMap(field string) bool { return field == "env" || field == "props" }

// compare is how two documents of a kind differ, in the order of the fields, and of names within env and props.
func compare(kind Kind, old, new values) []Difference {
	var all []Difference
	add := func(field string, old, new json.RawMessage) {
		if !bytes.Equal(old, new) {
			all = append(all, Difference{field, string(old), string(new)})
		}
	}
	for _, field := range kind.fields() {
		var before, after values
		switch {
		case isMap(field):
			before, after = entries(old[field]), entries(new[field])
		case field == "podTemplate":
			before, after = values{}, values{}
			before.leaves("", old[field])
			after.leaves("", new[field])
		default:
			add(field, old[field], new[field])
			continue
		}
		names := maps.Clone(before)
		maps.Copy(names, after)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			add(field+"."+name, before[name], after[name])
		}
	}
	return all
}

// update compares a definition with what the server shows of it.
type update struct {
	differences []Difference
	// body is what the server is to be sent: the fields that differ.
	body map[string]any
	// withheld are secrets that the file has in clear and the server hides: whether they are the same nobody can tell.
	withheld []string
	// unknown are placeholders of secrets that the server does not have, or would not keep.
	unknown document.Violations
	// moved says why the server does not keep what it has in some fields: the secret is sent elsewhere, or less
	// safely, by what the file says.
	moved map[string]string
}

// newUpdate compares. A secret that the server hides counts as equal to any that would be shown as it is, and is left
// as it is on the server, unless sendSecrets has what the files have in clear sent, or it is sent to another place
// than before: then the server wants it again.
func newUpdate(d, server *Definition, sendSecrets bool) update {
	u := update{body: map[string]any{}, moved: d.movedSecrets(server)}
	mine, shown, there := d.values(), d.shown().values(), server.values()
	u.differences = compare(d.Kind, there, shown)
	for _, field := range d.Kind.fields() {
		if isMap(field) {
			u.entries(field, entries(mine[field]), entries(shown[field]), entries(there[field]), sendSecrets)
		} else if value, send := u.choose(field, mine[field], shown[field], there[field], sendSecrets); send {
			u.body[field] = orNull(value)
		}
	}
	return u
}

// entries has a map sent whole, where it differs, since the server replaces it whole.
func (u *update) entries(field string, mine, shown, there values, sendSecrets bool) {
	send := len(mine) != len(there)
	merged := values{}
	for _, name := range slices.Sorted(maps.Keys(mine)) {
		value, differs := u.choose(field+"."+name, mine[name], shown[name], there[name], sendSecrets)
		merged[name], send = value, send || differs
	}
	if send {
		u.body[field] = merged
	}
}

// choose is the value to send, and whether it is another one than the server's.
func (u *update) choose(field string, mine, shown, there json.RawMessage, sendSecrets bool) (value json.RawMessage,
	differs bool) {
	hidden := bytes.Contains(mine, []byte(secrets.Hidden))
	why, moved := u.moved[field]
	switch same := bytes.Equal(shown, there); {
	case moved && hidden:
		u.unknown = append(u.unknown, document.Violation{Field: field, Message: why})
	case moved:
		u.differences = append(u.differences, Difference{field, string(there), string(shown)})
	case same && bytes.Equal(mine, shown):
		return there, false
	case same && !sendSecrets:
		u.withheld = append(u.withheld, field)
		return there, false
	case same:
		u.differences = append(u.differences, Difference{field, string(there), string(shown)})
	case hidden:
		u.unknown = append(u.unknown, document.Violation{Field: field, Message: "holds " + secrets.Hidden +
			", which the server shows in place of a secret, and the server has none there; " +
			"give the secret, or fromFile or fromEnv"})
	}
	return mine, true
}

// movedSecrets are the secrets that the server hides and would refuse to keep with what the definition says, by
// field, and why.
func (d *Definition) movedSecrets(server *Definition) map[string]string {
	var bad document.Violations
	if shown := d.shown(); d.Kind == Job {
		_, bad = shown.Job.KeepSecrets(server.Job)
	} else {
		_, bad = shown.App.KeepSecrets(server.App)
	}
	moved := map[string]string{}
	for _, v := range bad {
		moved[v.Field] = v.Message
	}
	return moved
}

// orNull sets the default for what is not given.
func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("null")
	}
	return value
}

// topLevel are the names of the fields that differ, those of entries as those of their maps.
func topLevel(all []Difference) []string {
	var names []string
	for _, one := range all {
		name, _, _ := strings.Cut(one.Field, ".")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
