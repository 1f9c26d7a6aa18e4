package sqldump

import (
	"slices"
	"strconv"
	"strings"
)

// Value is the value of a column.
type Value struct {
	Text string
	// Unknown is true if only the database knows the value, such as that of now(). Text is then the expression.
	Unknown bool
}

// wrappers are functions that return their first argument, in another type or form.
var wrappers = []string{"CAST", "TO_DATE", "TO_TIMESTAMP", "TO_CLOB", "TRIM", "STR_TO_DATE", "UNHEX"}

// types are words that can precede a text and give it a type.
var types = []string{"TIMESTAMP", "DATE", "TIME", "DATETIME", "BINARY"}

// value evaluates an expression. If the expression does not consist of literals, the value is Unknown. null is true
// for NULL, and for DEFAULT, whose value is not in the dump.
func (d *Dump) value(e []token) (v Value, null bool) {
	for len(e) > 2 && e[0].is("(") && closing(e, 0) == len(e)-1 {
		e = e[1 : len(e)-1]
	}
	if end := indexAtTop(e, func(i int) bool { return e[i].is(":") && i+1 < len(e) && e[i+1].is(":") }); end > 0 {
		e = e[:end] // a cast of PostgreSQL follows
	}
	if end := indexAtTop(e, func(i int) bool { return e[i].is("COLLATE") }); end > 0 {
		e = e[:end]
	}
	switch {
	case len(e) == 0, len(e) == 1 && e[0].is("NULL", "DEFAULT"):
		return Value{}, true
	case len(e) == 1 && e[0].is("TRUE"):
		return Value{Text: "1"}, false
	case len(e) == 1 && e[0].is("FALSE"):
		return Value{Text: "0"}, false
	case len(e) == 1 && (e[0].kind == text || isNumber(e[0].text)):
		return Value{Text: e[0].text}, false
	case len(e) == 2 && e[0].is("-", "+") && isNumber(e[1].text):
		return Value{Text: strings.TrimPrefix(e[0].text, "+") + e[1].text}, false
	case len(e) == 2 && e[0].is(types...) && e[1].kind == text:
		return Value{Text: e[1].text}, false
	}
	if joined, ok := d.joined(e); ok {
		return Value{Text: joined}, false
	}
	if len(e) > 3 && e[1].is("(") && closing(e, 1) == len(e)-1 {
		inner := arguments(e[2 : len(e)-1])
		switch {
		case e[0].is(wrappers...):
			first := inner[0]
			if as := indexAtTop(first, func(i int) bool { return first[i].is("AS") }); as > 0 {
				first = first[:as]
			}
			return d.value(first)
		case e[0].is("CONVERT") && len(inner) > 1: // in SQL Server, the first argument is the type
			return d.value(inner[1])
		}
	}
	return Value{Text: d.source[e[0].start:e[len(e)-1].end], Unknown: true}, false
}

// joined evaluates texts that follow each other or are joined with ||, + or CONCAT, and characters such as CHR(10). ok
// is false for any other expression.
func (d *Dump) joined(e []token) (out string, ok bool) {
	if len(e) > 3 && e[0].is("CONCAT") && e[1].is("(") && closing(e, 1) == len(e)-1 {
		for _, argument := range arguments(e[2 : len(e)-1]) {
			v, null := d.value(argument)
			if v.Unknown || null {
				return "", false
			}
			out += v.Text
		}
		return out, true
	}
	for i := 0; i < len(e); i++ {
		switch {
		case e[i].kind == text:
			out += e[i].text
		case i > 0 && e[i].is("|", "+"):
		case e[i].is("CHR", "CHAR") && i+3 < len(e) && e[i+1].is("(") && e[i+3].is(")"):
			code, err := strconv.Atoi(e[i+2].text)
			if err != nil || code > 0x7f {
				return "", false
			}
			out += string(rune(code))
			i += 3
		default:
			return "", false
		}
	}
	return out, true
}

// isNumber reports whether a word is a number.
func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil && s[0] <= '9' // not Inf or NaN
}

// closing returns the index of the token that closes the parenthesis at from; -1 if there is none.
func closing(e []token, from int) int {
	depth := 0
	for i := from; i < len(e); i++ {
		switch {
		case e[i].is("("):
			depth++
		case e[i].is(")"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// indexAtTop returns the first index outside of parentheses for which match returns true; -1 if there is none.
func indexAtTop(e []token, match func(i int) bool) int {
	depth := 0
	for i := range e {
		switch {
		case depth == 0 && match(i):
			return i
		case e[i].is("("):
			depth++
		case e[i].is(")"):
			depth--
		}
	}
	return -1
}

// arguments splits a list at its commas outside of parentheses.
func arguments(e []token) (list [][]token) {
	return split(e, ",")
}

// split splits tokens at each separator, a word or symbol, outside of parentheses.
func split(e []token, separator string) (parts [][]token) {
	for {
		end := indexAtTop(e, func(i int) bool { return e[i].is(separator) })
		if end < 0 {
			return append(parts, e)
		}
		parts, e = append(parts, e[:end]), e[end+1:]
	}
}

// qualified reads a name that may be qualified, such as xxl_job.`xxl_job_info`. It returns the last part of the name
// in lower case, and the tokens after it; "" if the tokens do not begin with a name.
func qualified(e []token) (last string, rest []token) {
	n := 0
	for n < len(e) && (e[n].kind == word || e[n].kind == name) && (n == 0 || e[n].start == e[n-1].end) {
		n++
	}
	if n == 0 {
		return "", e
	}
	last = e[n-1].text
	if e[n-1].kind == word {
		last = last[strings.LastIndexByte(last, '.')+1:]
	}
	return strings.ToLower(last), e[n:]
}

// skipWords returns the tokens after those at the beginning that are one of the words.
func skipWords(e []token, words ...string) []token {
	for len(e) > 0 && slices.ContainsFunc(words, func(w string) bool { return e[0].is(w) }) {
		e = e[1:]
	}
	return e
}
