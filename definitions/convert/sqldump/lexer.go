package sqldump

import (
	"encoding/hex"
	"regexp"
	"strings"
	"unicode/utf8"
)

type kind int

const (
	word   kind = iota // a keyword, a name without quotes, or a number
	name               // a name in quotes
	text               // a text
	symbol             // one other character
)

type token struct {
	kind  kind
	text  string
	start int // the offset in the dump
	end   int
	line  int
	first bool // it is the first one in its line
}

// is reports whether the token is a keyword or a symbol.
func (t token) is(words ...string) bool {
	if t.kind != word && t.kind != symbol {
		return false
	}
	for _, one := range words {
		if strings.EqualFold(t.text, one) {
			return true
		}
	}
	return false
}

// lexer splits a dump into statements.
type lexer struct {
	dialect
	source string
	at     int
	line   int
	first  bool
}

// statement is a statement without its end.
type statement struct {
	tokens []token
	source string
}

var (
	goLine        = regexp.MustCompile(`^(?i:GO)[ \t]*(?:\d+)?[ \t]*\r?(?:\n|$)`)
	delimiterLine = regexp.MustCompile(`^(?i:DELIMITER)[ \t]+(\S+)[^\n]*(?:\n|$)`)
	startsAlone   = []string{"INSERT", "USE", "PRINT", "CREATE", "ALTER", "DROP", "DELETE", "UPDATE", "TRUNCATE"}
)

// next returns the next statement. ok is false at the end of the dump.
func (l *lexer) next() (s statement, ok bool) {
	depth := 0
	for {
		l.skip()
		if len(s.tokens) == 0 && l.block(&s) {
			return s, true
		}
		if l.lines && l.first && goLine.MatchString(l.source[l.at:]) {
			l.move(len(goLine.FindString(l.source[l.at:])))
			if len(s.tokens) > 0 {
				break
			}
			continue
		}
		from, at, first := l.at, l.line, l.first
		t, ok := l.token()
		if !ok {
			break
		}
		if l.lines && depth == 0 && first && len(s.tokens) > 0 &&
			(t.is(startsAlone...) || t.is("SET") && !s.tokens[0].is("UPDATE")) {
			l.at, l.line, l.first = from, at, first
			break
		}
		switch {
		case t.is(";") && depth <= 0:
			if len(s.tokens) == 0 {
				continue
			}
			s.source = l.source[s.tokens[0].start:t.start]
			return s, true
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		}
		s.tokens = append(s.tokens, t)
	}
	if len(s.tokens) > 0 {
		s.source = l.source[s.tokens[0].start:l.at]
	}
	return s, len(s.tokens) > 0
}

// block reads what stands between a line with DELIMITER and the one that restores the semicolon, as one statement:
// procedures and triggers have semicolons inside.
func (l *lexer) block(s *statement) bool {
	found := delimiterLine.FindStringSubmatch(l.source[l.at:])
	if !l.first || found == nil {
		return false
	}
	from, line := l.at, l.line
	l.move(len(found[0]))
	if found[1] != ";" {
		for l.at < len(l.source) {
			end := strings.IndexByte(l.source[l.at:], '\n') + 1
			if end == 0 {
				end = len(l.source) - l.at
			}
			restored := delimiterLine.FindStringSubmatch(l.source[l.at:])
			l.move(end)
			if restored != nil && restored[1] == ";" {
				break
			}
		}
	}
	*s = statement{[]token{{kind: word, text: "DELIMITER", start: from, line: line}}, l.source[from:l.at]}
	if found[1] == ";" {
		s.tokens[0].text = "COMMIT" // it ends no block, and has no effect
	}
	return true
}

// move goes forward by a number of bytes.
func (l *lexer) move(n int) {
	passed := l.source[l.at : l.at+n]
	if lines := strings.Count(passed, "\n"); lines > 0 {
		l.line += lines
		l.first = strings.TrimSpace(passed[strings.LastIndexByte(passed, '\n'):]) == ""
	} else if strings.TrimSpace(passed) != "" {
		l.first = false
	}
	l.at += n
}

var executedComment = regexp.MustCompile(`^/\*M?!(\d*)`)

// skip passes white space and comments. The contents of a comment that MySQL executes are part of the dump; MariaDB's
// comment for version 99.99.99 is executed nowhere.
func (l *lexer) skip() {
	for l.at < len(l.source) {
		rest := l.source[l.at:]
		switch {
		case rest[0] <= ' ':
			l.move(1)
		case strings.HasPrefix(rest, "--"), rest[0] == '#' && l.backslash, rest[0] == '\\' && l.first && !l.backslash:
			l.comment("\n") // a line that begins with a backslash is a command of psql
		case executedComment.MatchString(rest) && l.backslash && executedComment.FindStringSubmatch(rest)[1] != "999999":
			l.move(len(executedComment.FindString(rest)))
		case strings.HasPrefix(rest, "*/"):
			l.move(2)
		case strings.HasPrefix(rest, "/*"):
			l.comment("*/")
		default:
			return
		}
	}
}

// comment passes a comment. It does not count as the first thing in its line.
func (l *lexer) comment(end string) {
	first, n := l.first, strings.Index(l.source[l.at:], end)
	if n < 0 {
		n = len(l.source) - l.at - len(end)
	}
	l.move(n + len(end))
	l.first = l.first || first && end == "*/"
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c == '.' || c == '@' || c >= 0x80 || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' ||
		'a' <= c && c <= 'z'
}

// token reads a token after white space was skipped.
func (l *lexer) token() (t token, ok bool) {
	if l.at >= len(l.source) {
		return t, false
	}
	t = token{start: l.at, line: l.line, first: l.first}
	switch c := l.source[l.at]; {
	case c == '\'':
		t.kind, t.text = text, l.quoted('\'', l.backslash)
	case c == '"' && l.backslash:
		t.kind, t.text = text, l.quoted('"', true)
	case c == '"', c == '`':
		t.kind, t.text = name, l.quoted(c, false)
	case c == '[' && l.brackets:
		t.kind, t.text = name, l.quoted(']', false)
	case isWord(c):
		end := l.at
		for end < len(l.source) && isWord(l.source[end]) {
			end++
		}
		t.kind, t.text = word, l.source[l.at:end]
		l.move(end - l.at)
		l.prefixed(&t)
	default:
		t.kind, t.text = symbol, l.source[l.at:l.at+1]
		l.move(1)
	}
	t.end = l.at
	return t, true
}

// prefixed replaces a word that is the prefix of a text, as in N'a', E'a\n' and X'61', and a number like 0x61.
func (l *lexer) prefixed(t *token) {
	follows := l.at < len(l.source) && l.source[l.at] == '\''
	switch {
	case follows && (t.is("N") || strings.HasPrefix(t.text, "_")):
		t.kind, t.text = text, l.quoted('\'', l.backslash)
	case follows && t.is("E"):
		t.kind, t.text = text, l.quoted('\'', true)
	case follows && t.is("X"):
		t.kind, t.text = text, unhex(l.quoted('\'', false))
	case follows && t.is("B"):
		t.kind, t.text = word, strings.TrimLeft(l.quoted('\'', false), "0")
		if t.text == "" {
			t.text = "0"
		}
	case len(t.text) > 2 && len(t.text)%2 == 0 && strings.EqualFold(t.text[:2], "0x"):
		t.kind, t.text = text, unhex(t.text[2:])
	}
}

// unhex decodes a text in hexadecimal digits. It returns digits that are not a valid text unchanged.
func unhex(digits string) string {
	if decoded, err := hex.DecodeString(digits); err == nil && utf8.Valid(decoded) {
		return string(decoded)
	}
	return digits
}

var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', '0': 0, 'Z': 26}

// quoted reads a text or name to its end quote, which is doubled inside.
func (l *lexer) quoted(end byte, backslash bool) string {
	var out strings.Builder
	i := l.at + 1
	for ; i < len(l.source); i++ {
		c := l.source[i]
		switch {
		case c == '\\' && backslash && i+1 < len(l.source):
			i++
			switch escaped, known := escapes[l.source[i]]; {
			case known:
				out.WriteByte(escaped)
			case l.source[i] == '%', l.source[i] == '_': // these are only escaped in patterns
				out.WriteString(l.source[i-1 : i+1])
			default:
				out.WriteByte(l.source[i])
			}
			continue
		case c == end && i+1 < len(l.source) && l.source[i+1] == end:
			i++
		case c == end:
			l.move(i + 1 - l.at)
			return out.String()
		}
		out.WriteByte(c)
	}
	l.move(i - l.at)
	return out.String()
}
