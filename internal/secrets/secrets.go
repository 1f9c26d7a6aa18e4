// Package secrets finds secrets in texts, so that they can be hidden. It recognizes a secret by the name of the whole
// text (such as a variable's name), by what stands around the secret (URLs, assignments, headers, JSON, options of
// known programs), and by the form of well-known tokens. Redact hides secrets that the caller knows.
package secrets

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// Hidden replaces a secret.
const Hidden = "******"

// Span is a secret part of a text: the bytes from From up to but excluding To. Name is the name that the text gives
// it, such as db-password, or "".
type Span struct {
	From, To int
	Name     string
}

// Find returns the secret parts of a text, in order. They are not empty and do not overlap. It looks for values with
// names of secrets, as in --db-password=x, PGPASSWORD=x, {"password":"x"} and X-Api-Key: x, for credentials of known
// programs, as in curl -u user:x, and for secrets in URLs. References such as $PASSWORD are not secrets. In a text
// that Hide has returned, Find finds each Hidden in place of its secret.
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

// HideURLs returns a text without the secrets in its URLs: the password of user:password@, and the values of
// parameters whose names indicate secrets. In http and https it also hides a user without a password, which is a
// token.
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

// Of returns the secret parts of a text with a name. The whole text is secret if it is marked as secret, or if the
// name indicates a secret.
func Of(name, text string, marked bool) []string {
	switch {
	case text == "":
		return nil
	case marked || IsName(name):
		return []string{text}
	}
	return In(text)
}

// minSecretLength is the length of the shortest secret that Redact looks for. Shorter secrets would match parts of
// words.
const minSecretLength = 4

// Redact hides known secrets in a text of any origin. It also hides their URL-encoded and URL-decoded forms, and each
// word of a secret that has several lines. It leaves everything shorter than minSecretLength.
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
	// Longer parts come first, because they may contain shorter ones.
	slices.SortFunc(parts, func(a, b string) int { return len(b) - len(a) })
	for _, s := range parts {
		if len(s) >= minSecretLength {
			text = strings.ReplaceAll(text, s, Hidden)
		}
	}
	return text
}
