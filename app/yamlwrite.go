package app

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// appendText writes a text so that YAML 1.1 and 1.2 read it as just that text.
func appendText(b []byte, text string) []byte {
	switch {
	case text != "" && isPlain(text) && !looksTyped(text):
		return append(b, text...)
	case strings.ContainsFunc(text, isControl):
		return appendDoubleQuoted(b, text)
	}
	b = append(b, '\'')
	b = append(b, strings.ReplaceAll(text, "'", "''")...)
	return append(b, '\'')
}

// appendDoubleQuoted writes all that is not printable as YAML's escapes, which are not Go's.
func appendDoubleQuoted(b []byte, text string) []byte {
	b = append(b, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\t':
			b = append(b, '\\', 't')
		case r == '\r':
			b = append(b, '\\', 'r')
		case isControl(r):
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// looksTyped reports whether a plain text may be read as something else than a
// string: a number, date or time, or a word such as no.
func looksTyped(text string) bool {
	if _, isBool := yamlBool(text); isBool || (scalar{text, true}).isNull() {
		return true
	}
	switch text {
	case "y", "Y", "n", "N", "=":
		return true
	}
	return !isLetter(text[0]) && text[0] != '/' && strings.Trim(text, "0123456789abcdefABCDEFxXoO+-._:TtZz ") == "" ||
		strings.HasPrefix(strings.ToLower(text), ".inf") || strings.HasPrefix(strings.ToLower(text), ".nan")
}
