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

// This file alone decides what is secret in a job: texts of env and props that are marked as secrets or whose names
// indicate secrets, the hidden parts of known properties, and secrets within any text, such as --password x (document.Text.Shown).

// hidden is how much of a known property's value is secret. Secrets are in no answer, violation, note or log.
type hidden int

const (
	shown hidden = iota
	secret
	// secretUser is a URL that is refused if it contains a user and password.
	secretUser
	// secretToken is a URL with a token in its path or query.
	secretToken
)

// show returns the part of the value that users may see.
func (p *property) show(value string) string {
	switch p.hidden {
	case secret:
		if value != "" {
			return secrets.Hidden
		}
	case secretUser, secretToken:
		u, err := url.Parse(value)
		if err != nil || u.User != nil || u.Opaque != "" {
			return secrets.Hidden // it is unknown which part is secret
		}
		if host := u.Scheme + "://" + u.Host + "/"; p.hidden == secretToken && len(value) > len(host) {
			return host + secrets.Hidden
		}
	}
	return value
}

// isSecretHeader reports whether the value of a header with this name is a secret, such as that of Authorization,
// Cookie or X-Auth-Key.
func isSecretHeader(name string) bool {
	if secrets.IsName(name) {
		return true
	}
	for word := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' }) {
		switch word {
		case "authorization", "auth", "cookie", "key", "signature", "jwt", "bearer", "session", "sessionid":
			return true
		}
	}
	return false
}

// textKey is the location of a text in the document: in env or props under a name, or in a field without a name.
type textKey struct{ field, name string }

// path returns the place as it is written in violations.
func (at textKey) path() string { return strings.TrimSuffix(at.field+"."+at.name, ".") }

// property returns the known property at a place; nil if there is none.
func (at textKey) property() *property {
	if f := familyOf(at.name); at.field == "props" && f != nil {
		return f.find(at.name)
	}
	return nil
}

// show returns the text at the place as users may see it.
func (at textKey) show(t document.Text) document.Text {
	if p := at.property(); p != nil && p.hidden != shown && !t.Secret {
		t.Value = p.show(t.Value)
	}
	return t.Shown(at.name)
}

// isPlaceholder reports whether the text was copied from an answer in which it is hidden.
func (at textKey) isPlaceholder(t document.Text) bool {
	p := at.property()
	return t.IsPlaceholder(at.name) || p != nil && p.hidden != shown && strings.Contains(t.Value, secrets.Hidden)
}

// mapTexts replaces texts that may contain secrets. It copies the document if one of them changes.
func (c Config) mapTexts(change func(textKey, document.Text) document.Text) Config {
	each := func(field string, texts document.Texts) document.Texts {
		changed, cloned := texts, false
		for name, old := range texts {
			text := change(textKey{field, name}, old)
			if text != old && !cloned {
				changed, cloned = maps.Clone(texts), true
			}
			if text != old {
				changed[name] = text
			}
		}
		return changed
	}
	one := func(field, text string) string {
		return change(textKey{field: field}, document.Text{Value: text}).Value
	}
	c.Env, c.Props = each("env", c.Env), each("props", c.Props)
	c.JobParameter, c.ShardingItemParameters = one("jobParameter", c.JobParameter),
		one("shardingItemParameters", c.ShardingItemParameters)
	c.Description = one("description", c.Description)
	return c
}

// WithoutSecrets returns the document as users may see it.
func (c Config) WithoutSecrets() Config { return c.mapTexts(textKey.show) }

// KeepSecrets returns a document that replaces stored. Secrets that are hidden in it, because it was created from
// WithoutSecrets, keep their stored values. A text that was marked as a secret stays marked; otherwise a user could
// read it by removing the mark.
//
// A secret is kept only while every setting that decides where it is sent, and how safely, is unchanged. Otherwise a
// user who may change a job could have secrets that they can't see sent to their own server. The violations name the
// secrets that were not kept for that reason.
func (c Config) KeepSecrets(stored Config) (Config, document.Violations) {
	before := map[textKey]document.Text{}
	stored.mapTexts(func(at textKey, t document.Text) document.Text {
		before[at] = t
		return t
	})
	restore := func(keep func(textKey, document.Text) bool) Config {
		return c.mapTexts(func(at textKey, t document.Text) document.Text {
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
	whole := restore(func(textKey, document.Text) bool { return true }) // an address may contain a secret itself
	var bad document.Violations
	kept := restore(func(at textKey, hidden document.Text) bool {
		moved := whole.redirected(at, stored)
		if moved != "" && at.isPlaceholder(hidden) {
			bad = append(bad, document.Violate(at.path(), "", "holds %s, which keeps the stored secret only while "+
				"it is sent to where it was, and %s has changed: give the secret itself, or leave %s as it was",
				secrets.Hidden, moved, moved))
		}
		return moved == ""
	})
	sortByField(bad)
	return kept, bad[:min(len(bad), maxViolations)]
}

// redirected returns the name of a changed setting that decides where, or how safely, the secrets at a place are sent;
// "" if there is none. The leader sends secrets of error handlers to the address in their family. All other secrets go
// to the executors of the job's app: an HTTP job's request, which has the job's parameters in a header, goes to its
// address, and everything else to the job's program.
func (c Config) redirected(at textKey, stored Config) string {
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

// exposureNotes warns of secrets in texts that become part of the command line of the job's processes. The parameters
// are in the sharding context, which is an argument. An HTTP job has no process.
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

// checkPlaceholders refuses placeholders whose secret is unknown.
func (c Config) checkPlaceholders() (bad document.Violations) {
	c.mapTexts(func(at textKey, t document.Text) document.Text {
		if at.isPlaceholder(t) {
			bad = append(bad, document.Violate(at.path(), "", "%s", document.PlaceholderMessage))
		}
		return t
	})
	sortByField(bad)
	return bad[:min(len(bad), maxViolations)]
}

func sortByField(bad document.Violations) {
	slices.SortFunc(bad, func(a, b document.Violation) int { return strings.Compare(a.Field, b.Field) })
}

// WithoutNotifications returns the document without the properties of its error handler, which no run needs.
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

// Redact removes the job's secrets from a text, such as the error of a library.
func (c Config) Redact(text string) string {
	var known []string
	c.mapTexts(func(at textKey, t document.Text) document.Text {
		known = append(known, t.Secrets(at.name)...)
		p := at.property()
		if p != nil && p.hidden == secret {
			_, credentials, _ := strings.Cut(t.Value, " ") // those after a scheme, such as Bearer
			known = append(known, t.Value, credentials)
		}
		if p != nil && p.hidden == secretToken {
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
