package database

import (
	"strings"
	"unicode/utf8"
)

// clean converts a text to valid UTF-8 without NUL, of at most limit characters, which every database accepts.
func clean(text string, limit int) string {
	if len(text) <= limit && utf8.ValidString(text) && !strings.Contains(text, "\x00") {
		return text
	}
	var out strings.Builder
	out.Grow(min(len(text), limit))
	n := 0
	for _, r := range text { // each invalid byte becomes U+FFFD
		if n == limit {
			break
		}
		if r == 0 {
			r = utf8.RuneError
		}
		out.WriteRune(r)
		n++
	}
	return out.String()
}

// orNull returns the text, or NULL if it is empty.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
