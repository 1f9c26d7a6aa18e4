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

// This file alone decides which texts of a job are secret: texts of env and props that are marked as secrets or whose
// names indicate secrets, the secret parts of known properties, and secrets within any text, such as --password x
// (document.Text.Shown).

// secrecy says which part of a known property's value is secret. No answer, violation, note or log contains a secret.
type secrecy int

const (
	public secrecy = iota
	secret
	// secretUser is for a URL that Check refuses if it contains a user or password. Such a URL is secret.
	secretUser
	// secretToken is for a URL whose path or query contains a token.
	secretToken
)

// show returns the part of the value that users may see.
func (p *property) show(value string) string {
	switch p.secrecy {
	case secret:
		if value != "" {
			return secrets.Hidden
		}
	case secretUser, secretToken:
		u, err := url.Parse(value)
		if err != nil || u.User != nil || u.Opaque != "" {
			return secrets.Hidden // it is unknown which part is secret
		}
		if host := u.Scheme + "://" + u.Host + "/"; p.secrecy == secretToken && len(value) > len(host) {
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

// textKey is the location of a text in the document: a name in env or props, or a field of its own, without a name.
type textKey struct{ field, name string }

// path returns the location as it is written in violations.
func (key textKey) path() string {
	if key.name == "" {
		return key.field
	}
	return key.field + "." + key.name
}

// property returns the known property at the location; nil if there is none.
func (key textKey) property() *property {
	if f := familyOf(key.name); key.field == "props" && f != nil {
		return f.find(key.name)
	}
	return nil
}

// show returns the text at the location with its secrets hidden.
func (key textKey) show(t document.Text) document.Text {
	if p := key.property(); p != nil && p.secrecy != public && !t.Secret {
		t.Value = p.show(t.Value)
	}
	return t.Shown(key.name)
}

// isPlaceholder reports whether the text at the location was copied from an answer that hides its secret.
func (key textKey) isPlaceholder(t document.Text) bool {
	p := key.property()
	return t.IsPlaceholder(key.name) || p != nil && p.secrecy != public && strings.Contains(t.Value, secrets.Hidden)
}

// mapTexts returns the document with the result of change for every text that may contain a secret. It does not change
// the maps of c.
func (c Config) mapTexts(change func(textKey, document.Text) document.Text) Config {
	mapNamed := func(field string, texts document.Texts) document.Texts {
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
	mapField := func(field, text string) string {
		return change(textKey{field: field}, document.Text{Value: text}).Value
	}
	c.Env, c.Props = mapNamed("env", c.Env), mapNamed("props", c.Props)
	c.JobParameter = mapField("jobParameter", c.JobParameter)
	c.ShardingItemParameters = mapField("shardingItemParameters", c.ShardingItemParameters)
	c.Description = mapField("description", c.Description)
	return c
}

// WithoutSecrets returns the document with its secrets hidden, so that users may see it.
func (c Config) WithoutSecrets() Config { return c.mapTexts(textKey.show) }

// KeepSecrets returns a document that replaces stored. A text whose secrets are hidden, because the document was made
// from a result of WithoutSecrets, gets its stored value again. Such a text stays marked as a secret if the stored one
// is; otherwise a user could read the secret by removing the mark.
//
// A secret is kept only while every setting that decides where it is sent, and how safely, is unchanged. Otherwise a
// user who may change a job could direct secrets that they can't see to their own server. The violations name the
// secrets that were not kept for that reason.
func (c Config) KeepSecrets(stored Config) (Config, document.Violations) {
	before := map[textKey]document.Text{}
	stored.mapTexts(func(key textKey, t document.Text) document.Text {
		before[key] = t
		return t
	})
	restore := func(keep func(textKey, document.Text) bool) Config {
		return c.mapTexts(func(key textKey, t document.Text) document.Text {
			restored := before[key]
			shown := key.show(restored).Value
			restored.Secret = restored.Secret || t.Secret
			hidden := document.Text{Value: shown, Secret: restored.Secret}
			if strings.Contains(shown, secrets.Hidden) && t.Value == shown && keep(key, hidden) {
				return restored
			}
			return t
		})
	}
	// A setting that decides where secrets are sent may itself contain a hidden secret. Such a setting is compared with
	// its secret restored, so that hiding it does not count as a change.
	allRestored := restore(func(textKey, document.Text) bool { return true })
	var bad document.Violations
	kept := restore(func(key textKey, hidden document.Text) bool {
		changedField := allRestored.redirected(key, stored)
		if changedField != "" && key.isPlaceholder(hidden) {
			bad = append(bad, document.Violate(key.path(), "", "holds %s, which keeps the stored secret only while "+
				"it is sent to where it was, and %s has changed: give the secret itself, or leave %s as it was",
				secrets.Hidden, changedField, changedField))
		}
		return changedField == ""
	})
	sortByField(bad)
	return kept, bad[:min(len(bad), maxViolations)]
}

// redirected returns the name of a setting that differs from stored and that decides where, or how safely, the secrets
// at a location are sent; "" if there is none.
//
// The leader sends the secrets of error handlers to the address in their family. All other secrets go to the executors
// of the job's app. These send an HTTP job's request, which has the job's parameters in a header, to its URL, and pass
// everything else to the job's program.
func (c Config) redirected(key textKey, stored Config) string {
	var directs []string
	f := familyOf(key.name)
	if key.field != "props" {
		f = nil
	}
	switch {
	case key.field == "description":
		return ""
	case f != nil:
		directs = f.directs
	case key.field == "jobParameter" || key.field == "shardingItemParameters":
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

// exposureNotes returns a warning for each text with a secret that becomes part of the command line of the job's
// processes. The parameters are in the sharding context, which is an argument. An HTTP job has no process.
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

// checkPlaceholders refuses texts that contain a placeholder where a secret should be.
func (c Config) checkPlaceholders() (bad document.Violations) {
	c.mapTexts(func(key textKey, t document.Text) document.Text {
		if key.isPlaceholder(t) {
			bad = append(bad, document.Violate(key.path(), "", "%s", document.PlaceholderMessage))
		}
		return t
	})
	sortByField(bad)
	return bad[:min(len(bad), maxViolations)]
}

// sortByField sorts violations, which were found in the random order of maps.
func sortByField(bad document.Violations) {
	slices.SortFunc(bad, func(a, b document.Violation) int { return strings.Compare(a.Field, b.Field) })
}

// WithoutNotifications returns the document without the properties of error handlers, which no run needs.
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
	var values []string
	c.mapTexts(func(key textKey, t document.Text) document.Text {
		values = append(values, t.Secrets(key.name)...)
		p := key.property()
		if p != nil && p.secrecy == secret {
			_, credentials, _ := strings.Cut(t.Value, " ") // the part after a scheme such as Bearer
			values = append(values, t.Value, credentials)
		}
		if p != nil && p.secrecy == secretToken {
			_, query, _ := strings.Cut(t.Value, "?")
			values = append(values, query)
			for pair := range strings.SplitSeq(query, "&") {
				_, token, _ := strings.Cut(pair, "=")
				values = append(values, token)
			}
		}
		return t
	})
	return secrets.Redact(text, values)
}
