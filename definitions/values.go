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

// values are the fields of a document by name, as JSON. As in documents, fields without content may be missing.
type values map[string]json.RawMessage

// fields returns the names of all fields of a kind, in the order for people.
func (k Kind) fields() []string {
	if k == App {
		return app.Schema.Fields()
	}
	return jobs.Schema.Fields()
}

// defaults returns the fields of a document in which nothing is set.
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
	text, _ := document.EncodeJSON(doc) // documents contain only values that can be encoded
	return entries(text)
}

// entries returns the members of a JSON object; none for other values.
func entries(object json.RawMessage) values {
	all := values{}
	if len(object) > 0 && object[0] == '{' {
		_ = json.Unmarshal(object, &all) // it was just encoded
	}
	return all
}

// leaves adds the values at each path of a nested value, such as spec.containers[0].name.
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

// Difference is a field, an entry of env or props, or a path in podTemplate, whose value differs from the server's.
// Old and New are JSON; "" means that there is none.
type Difference struct {
	Field string `json:"field"`
	Old   string `json:"old"`
	New   string `json:"new"`
}

// isMap reports whether the entries of a field are compared separately.
func isMap(field string) bool { return field == "env" || field == "props" }

// compare returns the differences of two documents of a kind, in the order of the fields; within env and props, by
// name.
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

// update compares a definition with the server's.
type update struct {
	differences []Difference
	// body contains the fields to send: those that differ.
	body map[string]any
	// withheld are secrets that are in clear in the file and hidden by the server, so that they cannot be compared.
	withheld []string
	// unknown are placeholders of secrets that the server does not have or would not keep.
	unknown document.Violations
	// moved says, by field, why the server does not keep its secret: with the new definition it would be sent
	// elsewhere, or less safely.
	moved map[string]string
}

// newUpdate compares a definition with the server's. A secret that the server hides counts as equal to any secret of
// the file and is left unchanged, with two exceptions: with sendSecrets, secrets in clear are sent; and if the secret
// would be sent to another place than before, the server requires it again.
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

// entries sends a map as a whole if it differs, because the server replaces maps as a whole.
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

// choose returns the value to send, and whether it differs from the server's.
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

// movedSecrets returns the secrets that the server hides and would not keep with this definition: the reason by
// field.
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

// orNull returns null, which sets the default, for a missing value.
func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("null")
	}
	return value
}

// topLevel returns the names of the fields that differ; for entries, the name of the map.
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
