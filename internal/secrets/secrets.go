// Package secrets finds secrets in texts in order to hide them: by the name of a text, in URLs, and by known secrets
// in foreign texts.
package secrets

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// Hidden replaces a secret.
const Hidden = "******"

// secretWords are the endings, in one or two words, of names whose values are secrets.
var secretWords = []string{
	"password", "passwords", "passwd", "pwd", "passphrase", "secret", "secrets", "token", "credential", "credentials",
	"apikey", "apikeys", "accesskey", "accesskeys", "privatekey", "privatekeys",
}

// IsName reports whether a name indicates a secret value: in snake, kebab, camel or dotted case, one of its words is
// or ends with "password", "secret", "token" or the like, two of its words are "api key", "access key" or "private
// key", or the last word is "pass".
func IsName(name string) bool {
	last := ""
	for _, word := range wordsOf(name) {
		if slices.ContainsFunc(secretWords, func(end string) bool { return strings.HasSuffix(last+word, end) }) {
			return true
		}
		last = word
	}
	return last == "pass"
}

// wordsOf splits a name at non-letters and before capitals: dbPassword, API_KEY2 and APIKey have two words each.
func wordsOf(name string) []string {
	var words []string
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return !unicode.IsLetter(r) }) {
		letters, from := []rune(part), 0
		for i := 1; i < len(letters); i++ {
			begins := unicode.IsUpper(letters[i]) &&
				(unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
			if begins {
				words = append(words, strings.ToLower(string(letters[from:i])))
				from = i
			}
		}
		words = append(words, strings.ToLower(string(letters[from:])))
	}
	return words
}

// HideURLs returns a text without the secrets in its URLs: the password of user:password@, a user without a password
// in http and https, which is a token, and the values of parameters whose names indicate secrets.
func HideURLs(text string) string {
	var shown strings.Builder
	from := 0
	for _, s := range urlSecrets(text) {
		shown.WriteString(text[from:s.from])
		shown.WriteString(Hidden)
		from = s.to
	}
	if from == 0 {
		return text
	}
	shown.WriteString(text[from:])
	return shown.String()
}

// InURLs returns the parts that HideURLs hides.
func InURLs(text string) []string {
	var secrets []string
	for _, s := range urlSecrets(text) {
		secrets = append(secrets, text[s.from:s.to])
	}
	return secrets
}

// span is a range of bytes in a text.
type span struct{ from, to int }

// urlSecrets returns the parts of a text that HideURLs hides, in order; none of them is empty.
func urlSecrets(text string) []span {
	var secrets []span
	for at := 0; ; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			return secrets
		}
		scheme, begin := text[at:at+i], at+i+len("://")
		end := begin + lengthUntil(text[begin:], " \t\r\n\"'`<>|\\")
		if next := strings.Index(text[begin:end], "://"); next >= 0 { // of another URL, in a list or a parameter
			end = begin + len(strings.TrimRightFunc(text[begin:begin+next], unicode.IsLetter))
		}
		address := text[begin:end]
		user := userOf(address)
		if _, password, both := strings.Cut(user, ":"); both {
			secrets = append(secrets, span{begin + len(user) - len(password), begin + len(user)})
		} else if strings.HasSuffix(scheme, "http") || strings.HasSuffix(scheme, "https") {
			secrets = append(secrets, span{begin, begin + len(user)})
		}
		secrets = append(secrets, parameterSecrets(address, len(user), begin)...)
		secrets = slices.DeleteFunc(secrets, func(s span) bool { return s.from == s.to })
		at = end
	}
}

// userOf returns the part before the '@' of a URL without its scheme. It recognizes a password with unencoded special
// characters too, by a beginning that is not a port.
func userOf(address string) string {
	host := address[:lengthUntil(address, "/?#")]
	at := strings.LastIndexByte(host, '@')
	if _, port, ok := strings.Cut(host, ":"); at < 0 && ok && host[0] != '[' &&
		strings.Trim(port, "0123456789") != "" {
		at = strings.LastIndexByte(address, '@')
	}
	return address[:max(at, 0)]
}

// parameterSecrets returns the secret values among the name=value pairs after a '?', '&', ';' or '#'. offset is the
// position of the address in the text.
func parameterSecrets(address string, from, offset int) []span {
	var secrets []span
	for i := from; i < len(address); i++ {
		if strings.IndexByte("?&;#", address[i]) < 0 {
			continue
		}
		pair := address[i+1:]
		pair = pair[:lengthUntil(pair, "?&;#")]
		if name, value, ok := strings.Cut(pair, "="); ok && IsName(name) {
			end := i + 1 + len(pair)
			secrets = append(secrets, span{offset + end - len(value), offset + end})
		}
	}
	return secrets
}

// lengthUntil returns the length of the text before the first of some characters.
func lengthUntil(text, characters string) int {
	if i := strings.IndexAny(text, characters); i >= 0 {
		return i
	}
	return len(text)
}

// Of returns the secret parts of a text with a name: all of it if it is marked as a secret or its name indicates one.
func Of(name, text string, marked bool) []string {
	switch {
	case text == "":
		return nil
	case marked || IsName(name):
		return []string{text}
	}
	return InURLs(text)
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
