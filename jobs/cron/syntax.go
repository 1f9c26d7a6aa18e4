package cron

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// shorten cuts a text that an error quotes to at most 100 characters.
func shorten(s string) string {
	const limit = 100
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit]) + "…"
}

// token is a part of an expression.
type token struct {
	expr string
	// offset is the position of the token's first byte in expr. text is the token in capital letters.
	offset int
	text   string
}

// wrong returns an error that says where t breaks a rule of a field; field is "" for text after the last field.
func (t token) wrong(field, rule string, args ...any) error {
	what := "something is missing"
	if t.text != "" {
		what = fmt.Sprintf("%q is wrong", shorten(t.expr[t.offset:t.offset+len(t.text)]))
	}
	if field != "" {
		what += " in " + field
	}
	column := utf8.RuneCountInString(t.expr[:t.offset]) + 1
	return fmt.Errorf("cron %q, column %d: %s: %s", shorten(t.expr), column, what, fmt.Sprintf(rule, args...))
}

// tokens splits expr at blanks.
func tokens(expr string) []token {
	var all []token
	upper := capitals(expr)
	for i := 0; i < len(expr); {
		end := i
		for end < len(expr) && !isBlank(expr[end]) {
			end++
		}
		if end > i {
			all = append(all, token{expr: expr, offset: i, text: upper[i:end]})
		}
		i = end + 1
	}
	return all
}

// isBlank reports whether a character separates fields.
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// capitals returns a text in capital letters. It changes only a-z, so that byte positions stay the same.
func capitals(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}

// entries splits t at every comma. Entries may be empty.
func (t token) entries() []token {
	texts := strings.Split(t.text, ",")
	all := make([]token, len(texts))
	offset := t.offset
	for i, text := range texts {
		all[i] = token{expr: t.expr, offset: offset, text: text}
		offset += len(text) + 1
	}
	return all
}
