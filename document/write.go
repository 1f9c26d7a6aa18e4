package document

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

// longestName is less than what YAML allows for a name before a colon in one line, which is 1024.
const longestName = 1000

// appendName writes a name of a map, up to its colon.
func appendName(b []byte, name string) []byte {
	if written := appendText(nil, name); len(written) > longestName {
		return append(append(append(b, "? "...), written...), "\n  "...)
	}
	return appendText(b, name)
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

// isPlain reports whether a text without quotes means itself in every dialect of YAML.
func isPlain(text string) bool {
	if text == "" {
		return false
	}
	switch c := text[0]; {
	case isLetter(c), isDigit(c), c == '/', c == '_', c == '.' && len(text) > 1 && text[1] != '.', (c == '-' || c == '+') && len(text) > 1 && isDigit(text[1]):
	default:
		return false
	}
	if last := text[len(text)-1]; last == ':' || last == ' ' {
		return false
	}
	return !strings.Contains(text, ": ") && !strings.Contains(text, " #") && !strings.ContainsFunc(text, isControl)
}

func isControl(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == utf8.RuneError
}
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
