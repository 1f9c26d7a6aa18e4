// Package secrets finds what is secret in texts, so that it can be hidden: by the name of a text, in URLs, and where
// somebody else's text holds a secret that is known.
package secrets

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// Hidden stands where a secret is.
const Hidden = "******"

// secretWords are what names end with, in a word of theirs or two, whose values are secrets.
var secretWords = []string{
	"password", "passwords", "passwd", "pwd", "passphrase", "secret", "secrets", "token", "credential", "credentials",
	"apikey", "apikeys", "accesskey", "accesskeys", "privatekey", "privatekeys",
}

// IsName reports whether a name says that its value is a secret: one of its words, in snake, kebab, camel or dotted
// case, is or ends with "password", "secret", "token" and the like, two of them are "api key", "access key" or
// "private key", or the last is "pass".
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

// wordsOf splits a name where its letters end, and where capitals begin: dbPassword, API_KEY2 and APIKey have two
// words each.
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

// HideURLs is a text without what is secret in the URLs in it: the password of user:password@, a user alone of http
// and https, which is a token, and parameters whose names say so.
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

// InURLs are the parts that HideURLs hides.
func InURLs(text string) []string {
	var secrets []string
	for _, s := range urlSecrets(text) {
		secrets = append(secrets, text[s.from:s.to])
	}
	return secrets
}

// span is a part of a text, in bytes.
type span struct{ from, to int }

// urlSecrets are the parts of a text that HideURLs hides, in order; none of them is empty.
func urlSecrets(text string) []span {
	var secrets []span
	for at := 0; ; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			return secrets
		}
		scheme, begin := text[at:at+i], at+i+len("://")
		end := begin + lengthUntil(text[begin:], " \t\r\n\"'`<>|\\")
		if next := strings.Index(text[begin:end], "://"); next >= 0 { // of another URL, in a list or in a parameter
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

// userOf is what stands before the '@' of a URL without its scheme. A password with characters that should have been encoded is taken
// for one, too: what is no port begins it.
func userOf(address string) string {
	host := address[:lengthUntil(address, "/?#")]
	at := strings.LastIndexByte(host, '@')
	if _, port, ok := strings.Cut(host, ":"); at < 0 && ok && host[0] != '[' &&
		strings.Trim(port, "0123456789") != "" {
		at = strings.LastIndexByte(address, '@')
	}
	return address[:max(at, 0)]
}

// parameterSecrets are those among name=value behind a '?', '&', ';' or '#' of an address that stands at offset.
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

// lengthUntil is how much of a text stands before the first of some characters.
func lengthUntil(text, characters string) int {
	if i := strings.IndexAny(text, characters); i >= 0 {
		return i
	}
	return len(text)
}

// Of are the parts of a text of that name that nobody is to see: all of it if it is marked as a secret or its name says so.
func Of(name, text string, marked bool) []string {
	switch {
	case text == "":
		return nil
	case marked || IsName(name):
		return []string{text}
	}
	return InURLs(text)
}

// shortest is the length of the shortest secret that is looked for in texts: a shorter one would be found in words.
const shortest = 4

// Redact hides secrets that are known in somebody else's text, also as a URL has them, and the lines of those of several.
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
		if len(s) >= shortest {
			text = strings.ReplaceAll(text, s, Hidden)
		}
	}
	return text
}
