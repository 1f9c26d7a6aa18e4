package database

import (
	"strings"
	"unicode/utf8"
)

// clean is a text as any database takes it: valid UTF-8 without NUL, of so many characters at most.
func clean(text string, most int) string {
	if len(text) <= most && utf8.ValidString(text) && !strings.Contains(text, "\x00") {
		return text
	}
	var out strings.Builder
	out.Grow(min(len(text), most))
	n := 0
	for _, r := range text { // bytes that are no UTF-8 are U+FFFD each
		if n == most {
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

// orNull is the text, or NULL if there is none.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
