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

// fields returns the names of all fields of a kind, in the order in which users read them.
func (k Kind) fields() []string {
	if k == App {
		return app.Schema.Fields()
	}
	return jobs.Schema.Fields()
}

// nameField returns the field with the name of the app or job.
func (k Kind) nameField() string { return k.fields()[0] }

// defaults returns the fields of a document in which nothing is set.
func (k Kind) defaults() values {
	if k == App {
		return (&Definition{Kind: App, App: app.Default()}).values()
	}
	return (&Definition{Kind: Job, Job: jobs.Default()}).values()
}

// values returns the fields of the document.
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

// addLeaves adds the leaves of a nested value by their paths, such as spec.containers[0].name.
func (v values) addLeaves(path string, value json.RawMessage) {
	var list []json.RawMessage
	switch object := entries(value); {
	case len(object) > 0:
		for name, member := range object {
			v.addLeaves(strings.TrimPrefix(path+"."+name, "."), member)
		}
	case json.Unmarshal(value, &list) == nil && len(list) > 0:
		for i, element := range list {
			v.addLeaves(fmt.Sprintf("%s[%d]", path, i), element)
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

// isMap reports whether a field is a map whose entries are compared separately.
func isMap(field string) bool { return field == "env" || field == "props" }

// compare returns the differences of two documents of a kind, in the order of the fields. Entries of env and props are
// sorted by name, and leaves of podTemplate by path.
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
			before.addLeaves("", old[field])
			after.addLeaves("", new[field])
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

// update is the result of comparing a definition with the server's.
type update struct {
	differences []Difference
	// body contains the fields to send: those that differ.
	body map[string]any
	// withheld are the fields whose secrets the file contains in clear but the server hides, so that they cannot be
	// compared.
	withheld []string
	// unknown are violations for placeholders of secrets that the server does not have or would not keep.
	unknown document.Violations
	// notKept contains by field the reason why the server does not keep its secret: with the new definition, it would
	// be sent to another address, or less safely.
	notKept map[string]string
}

// newUpdate compares a definition with the server's. A secret that the server hides counts as equal to any secret of
// the file, and the server keeps it. There are two exceptions: with sendSecrets, secrets in clear are sent; and if the
// server does not keep its secret, the file must contain it.
func newUpdate(d, server *Definition, sendSecrets bool) update {
	u := update{body: map[string]any{}, notKept: d.secretsNotKept(server)}
	given, shown, stored := d.values(), d.shown().values(), server.values()
	u.differences = compare(d.Kind, stored, shown)
	for _, field := range d.Kind.fields() {
		if isMap(field) {
			u.addMap(field, entries(given[field]), entries(shown[field]), entries(stored[field]), sendSecrets)
		} else if value, send := u.choose(field, given[field], shown[field], stored[field], sendSecrets); send {
			u.body[field] = orNull(value)
		}
	}
	return u
}

// addMap adds a map to the body if one of its entries differs. It adds all entries, because the server replaces the
// map as a whole.
func (u *update) addMap(field string, given, shown, stored values, sendSecrets bool) {
	send := len(given) != len(stored)
	merged := values{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value, differs := u.choose(field+"."+name, given[name], shown[name], stored[name], sendSecrets)
		merged[name], send = value, send || differs
	}
	if send {
		u.body[field] = merged
	}
}

// choose returns the value to send, and whether it differs or may differ from the server's, so that it must be sent.
// given is the value of the file, shown the same with hidden secrets, and stored that of the server. choose records
// differences that compare cannot find, and values that are withheld or unknown.
func (u *update) choose(field string, given, shown, stored json.RawMessage, sendSecrets bool) (value json.RawMessage,
	differs bool) {
	isPlaceholder := bytes.Contains(given, []byte(secrets.Hidden))
	reason, notKept := u.notKept[field]
	switch same := bytes.Equal(shown, stored); {
	case notKept && isPlaceholder:
		u.unknown = append(u.unknown, document.Violation{Field: field, Message: reason})
	case notKept:
		u.differences = append(u.differences, Difference{field, string(stored), string(shown)})
	case same && bytes.Equal(given, shown):
		return stored, false
	case same && !sendSecrets:
		u.withheld = append(u.withheld, field)
		return stored, false
	case same:
		u.differences = append(u.differences, Difference{field, string(stored), string(shown)})
	case isPlaceholder:
		u.unknown = append(u.unknown, document.Violation{Field: field, Message: "holds " + secrets.Hidden +
			", which the server shows in place of a secret, and the server has none there; " +
			"give the secret, or fromFile or fromEnv"})
	}
	return given, true
}

// secretsNotKept returns the fields with secrets that the server hides, and would not keep with this definition, with
// the reasons.
func (d *Definition) secretsNotKept(server *Definition) map[string]string {
	var bad document.Violations
	if shown := d.shown(); d.Kind == Job {
		_, bad = shown.Job.KeepSecrets(server.Job)
	} else {
		_, bad = shown.App.KeepSecrets(server.App)
	}
	reasons := map[string]string{}
	for _, v := range bad {
		reasons[v.Field] = v.Message
	}
	return reasons
}

// orNull returns null for a missing value. The server then sets the default.
func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("null")
	}
	return value
}

// topLevel returns the names of the fields that differ. For an entry of a map, this is the name of the map.
func topLevel(all []Difference) []string {
	var names []string
	for _, d := range all {
		name, _, _ := strings.Cut(d.Field, ".")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
