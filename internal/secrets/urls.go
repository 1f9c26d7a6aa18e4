package secrets

import (
	"slices"
	"strings"
	"unicode"
)

// maxURL limits how much of a URL is scanned, in bytes.
const maxURL = 8 << 10

// urlSecrets returns the parts of a text that HideURLs hides, in order; none of them is empty.
func urlSecrets(text string) []Span {
	var secrets []Span
	for from := 0; ; {
		i := strings.Index(text[from:], "://")
		if i < 0 {
			return secrets
		}
		scheme, begin := text[from:from+i], from+i+len("://")
		end := begin + lengthUntil(text[begin:min(len(text), begin+maxURL)], " \t\r\n\"'`<>|\\")
		if next := strings.Index(text[begin:end], "://"); next >= 0 {
			// Another URL follows, in a list or as a parameter.
			end = begin + len(strings.TrimRightFunc(text[begin:begin+next], unicode.IsLetter))
		}
		address := text[begin:end]
		user := userOf(address)
		if _, password, both := strings.Cut(user, ":"); both {
			secrets = append(secrets, Span{From: begin + len(user) - len(password), To: begin + len(user)})
		} else if strings.HasSuffix(scheme, "http") || strings.HasSuffix(scheme, "https") {
			secrets = append(secrets, Span{From: begin, To: begin + len(user)})
		}
		secrets = append(secrets, parameterSecrets(address, len(user), begin)...)
		secrets = slices.DeleteFunc(secrets, func(s Span) bool { return s.From == s.To })
		from = end
	}
}

// userOf returns the part before the '@' of an address, which is a URL without its scheme. Usually the '@' stands
// before the path. If it does not, and no port follows the first colon, that colon precedes a password with special
// characters that are not encoded. The password ends at the last '@'.
func userOf(address string) string {
	host := address[:lengthUntil(address, "/?#")]
	at := strings.LastIndexByte(host, '@')
	if _, port, ok := strings.Cut(host, ":"); at < 0 && ok && host[0] != '[' &&
		strings.Trim(port, "0123456789") != "" {
		at = strings.LastIndexByte(address, '@')
	}
	return address[:max(at, 0)]
}

// parameterSecrets returns the secret values among the name=value pairs after a '?', '&', ';' or '#'. It searches the
// address from position from. offset is the position of the address in the text.
func parameterSecrets(address string, from, offset int) []Span {
	var secrets []Span
	for i := from; i < len(address); i++ {
		if strings.IndexByte("?&;#", address[i]) < 0 {
			continue
		}
		pair := address[i+1:]
		pair = pair[:lengthUntil(pair, "?&;#")]
		if name, value, ok := strings.Cut(pair, "="); ok && IsName(name) {
			end := i + 1 + len(pair)
			secrets = append(secrets, Span{From: offset + end - len(value), To: offset + end})
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
