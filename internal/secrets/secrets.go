// Package secrets finds secrets in texts in order to hide them: by the name of a text, by what stands around a value in
// it (URLs, assignments, headers, JSON, options of known programs), by the form of well-known tokens, and by known
// secrets in foreign texts.
package secrets

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// Hidden replaces a secret.
const Hidden = "******"

// Span is a secret part of a text, the bytes from From up to To. Name is what the text calls it, such as db-password;
// "" if it does not.
type Span struct {
	From, To int
	Name     string
}

// Find returns the secret parts of a text, in order. None is empty, and none overlaps another one. It looks for values
// with names of secrets, as in --db-password=x, PGPASSWORD=x, {"password":"x"} and X-Api-Key: x, for credentials of
// known programs, as in curl -u user:x, and for secrets in URLs. References such as $PASSWORD are none. A text in which
// the secrets are hidden has secrets at the same places.
func Find(text string) []Span {
	all := slices.Concat(urlSecrets(text), pairSecrets(text), wordSecrets(text), formSecrets(text))
	slices.SortFunc(all, func(a, b Span) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(b.To, a.To)) })
	var found []Span
	for _, s := range all {
		if last := len(found) - 1; last >= 0 && s.From < found[last].To {
			found[last].To, found[last].Name = max(found[last].To, s.To), cmp.Or(found[last].Name, s.Name)
		} else if s.From < s.To {
			found = append(found, s)
		}
	}
	return found
}

// Hide returns a text without the secrets in it.
func Hide(text string) string { return hide(text, Find(text)) }

// In returns the parts that Hide hides.
func In(text string) []string {
	var parts []string
	for _, s := range Find(text) {
		parts = append(parts, text[s.From:s.To])
	}
	return parts
}

// HideURLs returns a text without the secrets in its URLs: the password of user:password@, a user without a password
// in http and https, which is a token, and the values of parameters whose names indicate secrets.
func HideURLs(text string) string { return hide(text, urlSecrets(text)) }

func hide(text string, spans []Span) string {
	if len(spans) == 0 {
		return text
	}
	var shown strings.Builder
	from := 0
	for _, s := range spans {
		shown.WriteString(text[from:s.From])
		shown.WriteString(Hidden)
		from = s.To
	}
	shown.WriteString(text[from:])
	return shown.String()
}

// Of returns the secret parts of a text with a name: all of it if it is marked as a secret or its name indicates one.
func Of(name, text string, marked bool) []string {
	switch {
	case text == "":
		return nil
	case marked || IsName(name):
		return []string{text}
	}
	return In(text)
}

// minSecretLength is the length of the shortest secret that Redact looks for; shorter ones would match parts of words.
const minSecretLength = 4

// Redact hides known secrets in a foreign text, also in URL encoding, and the single words of multi-line secrets.
func Redact(text string, known []string) string {
	var parts []string
	for _, s := range known {
		parts = append(parts, s)
		if strings.Contains(s, "\n") {
			parts = append(parts, strings.Fields(s)...)
		}
		if plain, err := url.QueryUnescape(s); err == nil {
			parts = append(parts, plain)
		}
		parts = append(parts, url.QueryEscape(s), url.PathEscape(s))
	}
	slices.SortFunc(parts, func(a, b string) int { return len(b) - len(a) }) // one may be a part of another
	for _, s := range parts {
		if len(s) >= minSecretLength {
			text = strings.ReplaceAll(text, s, Hidden)
		}
	}
	return text
}
