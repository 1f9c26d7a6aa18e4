package cron

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// SyntaxError says what is wrong with the text of an expression.
type SyntaxError struct {
	// Expr is the whole expression as given.
	Expr string
	// Pos is the column of Token in Expr in characters, counted from 1. Where
	// something is missing it is the column where that should stand.
	Pos int
	// Field is the name of the field, as in "day of month"; empty for a token
	// behind the last field.
	Field string
	// Token is the part of Expr that is wrong; empty where something is missing.
	Token string
	// Rule says what would be right.
	Rule string
}

// Error is one sentence with position, token and rule.
func (e *SyntaxError) Error() string {
	field := ""
	if e.Field != "" {
		field = " in " + e.Field
	}
	if e.Token == "" {
		return fmt.Sprintf("cron %q, column %d: something is missing%s: %s", shorten(e.Expr), e.Pos, field, e.Rule)
	}
	return fmt.Sprintf("cron %q, column %d: %q is wrong%s: %s", shorten(e.Expr), e.Pos, shorten(e.Token), field, e.Rule)
}

// shorten keeps a sentence a sentence when somebody sends a book.
func shorten(s string) string {
	const most = 100
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

// token is a piece of an expression.
type token struct {
	expr string
	// at is the token's first byte in expr, and text what stands there in
	// capital letters.
	at   int
	text string
}

// wrong is the error that t breaks a rule of the field named.
func (t token) wrong(field, rule string, args ...any) *SyntaxError {
	return &SyntaxError{
		Expr:  t.expr,
		Pos:   utf8.RuneCountInString(t.expr[:t.at]) + 1,
		Field: field,
		Token: t.expr[t.at : t.at+len(t.text)],
		Rule:  fmt.Sprintf(rule, args...),
	}
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
			all = append(all, token{expr: expr, at: i, text: upper[i:end]})
		}
		i = end + 1
	}
	return all
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// capitals leaves everything but a-z as it is, so that no byte moves.
func capitals(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}

// entries cuts t at every comma. What stands between two may be empty.
func (t token) entries() []token {
	texts := strings.Split(t.text, ",")
	all := make([]token, len(texts))
	at := t.at
	for i, text := range texts {
		all[i] = token{expr: t.expr, at: at, text: text}
		at += len(text) + 1
	}
	return all
}
