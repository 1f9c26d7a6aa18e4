package jobs

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/secrets"
)

// What of a job is a secret, here and nowhere else: texts of env and props that are marked so, or whose names say so;
// what the known properties hide; and what URLs in any text hide (document.Text.Shown).

// hidden says how much of a known property's value is a secret: it is in no answer, violation, note or log.
type hidden int

const (
	shown hidden = iota
	secret
	// secretUser is a URL that is refused if somebody has put a user and password into it.
	secretUser
	// secretToken is a URL with a token in its path or its query.
	secretToken
)

// show is as much of the value as people may see.
func (p *property) show(value string) string {
	switch p.hidden {
	case secret:
		if value != "" {
			return secrets.Hidden
		}
	case secretUser, secretToken:
		u, err := url.Parse(value)
		if err != nil || u.User != nil || u.Opaque != "" {
			return secrets.Hidden // nobody knows what of it is secret
		}
		if host := u.Scheme + "://" + u.Host + "/"; p.hidden == secretToken && len(value) > len(host) {
			return host + secrets.Hidden
		}
	}
	return value
}

// place is where a text stands in the document: in env or props under a name, or in a field of its own without one.
type place struct{ field, name string }

// path is the place as violations name it.
func (at place) path() string { return strings.TrimSuffix(at.field+"."+at.name, ".") }

// property is the known property of a place, nil for all else.
func (at place) property() *property {
	if f := familyOf(at.name); at.field == "props" && f != nil {
		return f.find(at.name)
	}
	return nil
}

// show is the text of that place as people may see it.
func (at place) show(t document.Text) document.Text {
	if p := at.property(); p != nil && p.hidden != shown && !t.Secret {
		t.Value = p.show(t.Value)
	}
	return t.Shown(at.name)
}

// isPlaceholder reports whether the text was read from an answer, in which it is hidden.
func (at place) isPlaceholder(t document.Text) bool {
	p := at.property()
	return t.IsPlaceholder(at.name) || p != nil && p.hidden != shown && strings.Contains(t.Value, secrets.Hidden)
}

// mapTexts replaces texts that may hold secrets, in a copy where one of them changes.
func (c Config) mapTexts(change func(place, document.Text) document.Text) Config {
	each := func(field string, texts document.Texts) document.Texts {
		changed, cloned := texts, false
		for name, old := range texts {
			text := change(place{field, name}, old)
			if text != old && !cloned {
				changed, cloned = maps.Clone(texts), true
			}
			if text != old {
				changed[name] = text
			}
		}
		return changed
	}
	one := func(field, text string) string { return change(place{field: field}, document.Text{Value: text}).Value }
	c.Env, c.Props = each("env", c.Env), each("props", c.Props)
	c.JobParameter, c.ShardingItemParameters = one("jobParameter", c.JobParameter),
		one("shardingItemParameters", c.ShardingItemParameters)
	c.Description = one("description", c.Description)
	return c
}

// WithoutSecrets is the document as people may see it.
func (c Config) WithoutSecrets() Config { return c.mapTexts(place.show) }

// KeepSecrets returns a document that replaces stored, in which a secret that is hidden, because the document was
// made from WithoutSecrets, is as it was. What was marked as a secret is it still, or whoever takes the mark away
// would see it.
//
// A secret is kept only while all that says where it is sent, and how safely, equals what is stored: else whoever may
// change a job could send to a server of their own a secret that they can't see. The violations are the secrets that
// were not kept for that reason.
func (c Config) KeepSecrets(stored Config) (Config, document.Violations) {
	before := map[place]document.Text{}
	stored.mapTexts(func(at place, t document.Text) document.Text {
		before[at] = t
		return t
	})
	restore := func(keep func(place, document.Text) bool) Config {
		return c.mapTexts(func(at place, t document.Text) document.Text {
			old := before[at]
			shown := at.show(old).Value
			old.Secret = old.Secret || t.Secret
			hidden := document.Text{Value: shown, Secret: old.Secret}
			if strings.Contains(shown, secrets.Hidden) && t.Value == shown && keep(at, hidden) {
				return old
			}
			return t
		})
	}
	whole := restore(func(place, document.Text) bool { return true }) // an address may have a secret of its own
	var bad document.Violations
	kept := restore(func(at place, hidden document.Text) bool {
		moved := whole.redirected(at, stored)
		if moved != "" && at.isPlaceholder(hidden) {
			bad = append(bad, document.Violate(at.path(), "", "holds %s, which keeps the stored secret only while "+
				"it is sent to where it was, and %s has changed: give the secret itself, or leave %s as it was",
				secrets.Hidden, moved, moved))
		}
		return moved == ""
	})
	sortByField(bad)
	return kept, bad[:min(len(bad), maxMessages)]
}

// redirected names what says where the secrets of a place are sent, or how safely, and differs from what is stored;
// "" if nothing does. Secrets of error handlers are sent by the leader, to the address in their family. All others go
// to the executors of the job's app: what an HTTP job's request has to its address, which gets the parameters of the
// job in a header, and all else to the job's program.
func (c Config) redirected(at place, stored Config) string {
	var directs []string
	f := familyOf(at.name)
	if at.field != "props" {
		f = nil
	}
	switch {
	case at.field == "description":
		return ""
	case f != nil:
		directs = f.directs
	case at.field == "jobParameter" || at.field == "shardingItemParameters":
		directs = familyOf(PropHTTPURL).directs
	}
	for _, name := range directs {
		if c.Props[name].Value != stored.Props[name].Value {
			return "props." + name
		}
	}
	if (f == nil || f.handler == "") && c.AppName != stored.AppName {
		return "appName"
	}
	return ""
}

// exposureNotes warn of secrets in texts that become part of the command line of the job's processes: the parameters
// stand in the sharding context, which is an argument. An HTTP job has no process.
func (c Config) exposureNotes() []string {
	if _, ok := c.HTTP(); ok {
		return nil
	}
	return slices.Concat(
		app.ExposureNotes("jobParameter", c.JobParameter),
		app.ExposureNotes("shardingItemParameters", c.ShardingItemParameters),
		app.ExposureNotes("props."+PropScript, c.Prop(PropScript)),
	)
}

// checkPlaceholders refuses what answers show in place of secrets, and what therefore nobody knows.
func (c Config) checkPlaceholders() (bad document.Violations) {
	c.mapTexts(func(at place, t document.Text) document.Text {
		if at.isPlaceholder(t) {
			bad = append(bad, document.Violate(at.path(), "", "%s", document.PlaceholderMessage))
		}
		return t
	})
	sortByField(bad)
	return bad[:min(len(bad), maxMessages)]
}

func sortByField(bad document.Violations) {
	slices.SortFunc(bad, func(a, b document.Violation) int { return strings.Compare(a.Field, b.Field) })
}

// WithoutNotifications is the document without the properties of its error handler: a run needs none of them.
func (c Config) WithoutNotifications() Config {
	if len(c.Props) == 0 {
		return c
	}
	own := make(document.Texts, len(c.Props))
	for name, value := range c.Props {
		if f := familyOf(name); f == nil || f.handler == "" {
			own[name] = value
		}
	}
	if len(own) < len(c.Props) {
		c.Props = own
	}
	return c
}

// Redact takes the job's secrets out of a text, such as an error of a library that was given them.
func (c Config) Redact(text string) string {
	var known []string
	c.mapTexts(func(at place, t document.Text) document.Text {
		known = append(known, t.Secrets(at.name)...)
		if p := at.property(); p != nil && p.hidden == secretToken {
			_, query, _ := strings.Cut(t.Value, "?")
			known = append(known, query)
			for pair := range strings.SplitSeq(query, "&") {
				_, token, _ := strings.Cut(pair, "=")
				known = append(known, token)
			}
		}
		return t
	})
	return secrets.Redact(text, known)
}
