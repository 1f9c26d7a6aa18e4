package jobs

import (
	"maps"
	"net/url"
	"strings"
)

// hidden says how much of a property's value is a secret: it is in no answer, violation, note or log.
type hidden int

const (
	shown hidden = iota
	secret
	// secretUser is a URL that is refused if somebody has put a user and password into it.
	secretUser
	// secretToken is a URL with a token in its path or its query.
	secretToken
)

// hiddenText stands where a secret is.
const hiddenText = "******"

// shown is as much of the value as people may see.
func (p *property) shown(value string) string {
	switch p.hidden {
	case secret:
		if value != "" {
			return hiddenText
		}
	case secretUser, secretToken:
		u, err := url.Parse(value)
		if err != nil || u.User != nil || u.Opaque != "" {
			return hiddenText // nobody knows what of it is secret
		}
		if host := u.Scheme + "://" + u.Host + "/"; p.hidden == secretToken && len(value) > len(host) {
			return host + hiddenText
		}
	}
	return value
}

// placeholder says what is wrong with a value that was read from an answer, in which it is hidden.
func placeholder(value string, p *property) string {
	if p.hidden != shown && strings.Contains(value, hiddenText) {
		return "holds " + hiddenText + ", which answers show in place of a secret; give the secret itself"
	}
	return ""
}

// WithoutSecrets is the document as people may see it: secrets among its properties are hidden.
func (c Config) WithoutSecrets() Config {
	return c.mapSecrets(func(p *property, value string) string { return p.shown(value) })
}

// KeepSecrets is a document that replaces stored: what of its secrets is hidden, since it was made from WithoutSecrets, is as
// it was.
func (c Config) KeepSecrets(stored Config) Config {
	return c.mapSecrets(func(p *property, value string) string {
		if old, there := stored.Props[p.name]; there && value == p.shown(old) {
			return old
		}
		return value
	})
}

// mapSecrets replaces the values of the properties that hold secrets, in a copy.
func (c Config) mapSecrets(value func(*property, string) string) Config {
	cloned := false
	for i := range families {
		for j := range families[i].props {
			p := &families[i].props[j]
			old, given := c.Props[p.name]
			if !given || p.hidden == shown {
				continue
			}
			if !cloned {
				c.Props, cloned = maps.Clone(c.Props), true
			}
			c.Props[p.name] = value(p, old)
		}
	}
	return c
}

// WithoutNotifications is the document without the properties of its error handler: a run needs none of them.
func (c Config) WithoutNotifications() Config {
	if len(c.Props) == 0 {
		return c
	}
	own := make(map[string]string, len(c.Props))
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
	c.mapSecrets(func(p *property, value string) string {
		secrets := []string{value}
		if p.hidden == secretToken {
			_, query, _ := strings.Cut(value, "?")
			secrets = []string{query}
			for pair := range strings.SplitSeq(query, "&") {
				_, token, _ := strings.Cut(pair, "=")
				secrets = append(secrets, token)
			}
		}
		for _, s := range secrets {
			if len(s) > 3 { // else it would be found in words
				text = strings.ReplaceAll(text, s, hiddenText)
				if plain, err := url.QueryUnescape(s); err == nil {
					text = strings.ReplaceAll(text, plain, hiddenText)
				}
			}
		}
		return value
	})
	return text
}
