package sqldump

import (
	"slices"
	"strconv"
	"strings"
)

// Value is what a statement puts into a column.
type Value struct {
	Text string
	// Unknown is true if only the database knows the value, as with now(). Text is then the expression.
	Unknown bool
}

// wrappers are functions whose value is their first argument, as far as a text is concerned.
var wrappers = []string{"CAST", "TO_DATE", "TO_TIMESTAMP", "TO_CLOB", "TRIM", "STR_TO_DATE", "UNHEX"}

// typed are words before a text that give it a type.
var typed = []string{"TIMESTAMP", "DATE", "TIME", "DATETIME", "BINARY"}

// value evaluates an expression of literals. null is true for NULL, and for DEFAULT, whose value is not in the dump.
func (d *Dump) value(e []token) (v Value, null bool) {
	for len(e) > 2 && e[0].is("(") && closing(e, 0) == len(e)-1 {
		e = e[1 : len(e)-1]
	}
	if at := indexAtTop(e, func(i int) bool { return e[i].is(":") && i+1 < len(e) && e[i+1].is(":") }); at > 0 {
		e = e[:at] // a cast of PostgreSQL
	}
	if at := indexAtTop(e, func(i int) bool { return e[i].is("COLLATE") }); at > 0 {
		e = e[:at]
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
	case len(e) == 2 && e[0].is(typed...) && e[1].kind == text:
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
		case e[0].is("CONVERT") && len(inner) > 1: // SQL Server's has the type first
			return d.value(inner[1])
		}
	}
	return Value{Text: d.source[e[0].start:e[len(e)-1].end], Unknown: true}, false
}

// joined evaluates texts that follow each other or are joined with ||, + or CONCAT. CHR(10) stands for a line feed.
func (d *Dump) joined(e []token) (out string, ok bool) {
	if len(e) > 3 && e[0].is("CONCAT") && e[1].is("(") && closing(e, 1) == len(e)-1 {
		for _, one := range arguments(e[2 : len(e)-1]) {
			v, null := d.value(one)
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

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil && s[0] <= '9' // not Inf or NaN
}

// closing returns the index of the token that closes the parenthesis at from, or -1.
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

// indexAtTop returns the first index outside of parentheses for which match holds, or -1.
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

// split splits tokens at a word or symbol outside of parentheses.
func split(e []token, at string) (parts [][]token) {
	for {
		end := indexAtTop(e, func(i int) bool { return e[i].is(at) })
		if end < 0 {
			return append(parts, e)
		}
		parts, e = append(parts, e[:end]), e[end+1:]
	}
}

// qualified reads a name with what qualifies it, such as xxl_job.`xxl_job_info`, and returns its last part in lower
// case.
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

// after returns the tokens behind the given words, each of which may be missing.
func after(e []token, words ...string) []token {
	for len(e) > 0 && slices.ContainsFunc(words, func(w string) bool { return e[0].is(w) }) {
		e = e[1:]
	}
	return e
}
