package sqldump

import (
	"encoding/hex"
	"regexp"
	"strings"
	"unicode/utf8"
)

// kind is the kind of a token.
type kind int

const (
	word   kind = iota // a keyword, a name without quotes, or a number
	name               // a name in quotes
	text               // a text
	symbol             // one other character
)

// token is a token of a dump, from the offset start to before the offset end. The text of a name or text is without
// quotes and escapes.
type token struct {
	kind       kind
	text       string
	start, end int
	line       int
}

// is reports whether the token is one of these keywords or symbols.
func (t token) is(words ...string) bool {
	if t.kind != word && t.kind != symbol {
		return false
	}
	for _, w := range words {
		if strings.EqualFold(t.text, w) {
			return true
		}
	}
	return false
}

// lexer splits a dump into statements.
type lexer struct {
	dialect
	source string
	offset int // of the next character to read
	line   int
	// lineStart is set if only blanks and comments precede the offset in its line.
	lineStart bool
}

// statement is a statement without the semicolon at its end.
type statement struct {
	tokens []token
	source string
}

var (
	// goLine matches a line that ends a batch of SQL Server, delimiterLine a command of MySQL's client.
	goLine        = regexp.MustCompile(`^(?i:GO)[ \t]*(?:\d+)?[ \t]*\r?(?:\n|$)`)
	delimiterLine = regexp.MustCompile(`^(?i:DELIMITER)[ \t]+(\S+)[^\n]*(?:\n|$)`)
	// firstWords are words with which a line begins a statement of SQL Server, even without a semicolon before it.
	firstWords = []string{"INSERT", "USE", "PRINT", "CREATE", "ALTER", "DROP", "DELETE", "UPDATE", "TRUNCATE"}
)

// next returns the next statement. ok is false at the end of the dump.
func (l *lexer) next() (s statement, ok bool) {
	depth := 0
	for {
		l.skip()
		if len(s.tokens) == 0 && l.block(&s) {
			return s, true
		}
		if l.lines && l.lineStart && goLine.MatchString(l.source[l.offset:]) {
			l.move(len(goLine.FindString(l.source[l.offset:])))
			if len(s.tokens) > 0 {
				break
			}
			continue
		}
		before := *l
		t, ok := l.token()
		if !ok {
			break
		}
		if l.lines && depth == 0 && before.lineStart && len(s.tokens) > 0 &&
			(t.is(firstWords...) || t.is("SET") && !s.tokens[0].is("UPDATE")) {
			*l = before // the token begins the next statement
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
		s.source = l.source[s.tokens[0].start:l.offset]
	}
	return s, len(s.tokens) > 0
}

// block reads the text from a line with DELIMITER to the line that restores the semicolon as one statement, because
// the procedures and triggers in it contain semicolons. It returns false if the next line is not one with DELIMITER.
func (l *lexer) block(s *statement) bool {
	found := delimiterLine.FindStringSubmatch(l.source[l.offset:])
	if !l.lineStart || found == nil {
		return false
	}
	from, line := l.offset, l.line
	l.move(len(found[0]))
	if found[1] != ";" {
		for l.offset < len(l.source) {
			end := strings.IndexByte(l.source[l.offset:], '\n') + 1
			if end == 0 {
				end = len(l.source) - l.offset
			}
			restored := delimiterLine.FindStringSubmatch(l.source[l.offset:])
			l.move(end)
			if restored != nil && restored[1] == ";" {
				break
			}
		}
	}
	*s = statement{[]token{{kind: word, text: "DELIMITER", start: from, line: line}}, l.source[from:l.offset]}
	if found[1] == ";" {
		s.tokens[0].text = "COMMIT" // DELIMITER ; without a block before it has no effect, as COMMIT here
	}
	return true
}

// move moves the offset forward by a number of bytes.
func (l *lexer) move(n int) {
	passed := l.source[l.offset : l.offset+n]
	if lines := strings.Count(passed, "\n"); lines > 0 {
		l.line += lines
		l.lineStart = strings.TrimSpace(passed[strings.LastIndexByte(passed, '\n'):]) == ""
	} else if strings.TrimSpace(passed) != "" {
		l.lineStart = false
	}
	l.offset += n
}

// executedComment matches the start of a comment whose content MySQL executes, with the version from which it does.
var executedComment = regexp.MustCompile(`^/\*M?!(\d*)`)

// skip skips white space and comments. The content of a comment that MySQL executes is part of the dump, except that
// of MariaDB's comment for version 99.99.99, which no version executes.
func (l *lexer) skip() {
	for l.offset < len(l.source) {
		rest := l.source[l.offset:]
		switch {
		case rest[0] <= ' ':
			l.move(1)
		case strings.HasPrefix(rest, "--"), rest[0] == '#' && l.backslash,
			rest[0] == '\\' && l.lineStart && !l.backslash:
			l.comment("\n") // a line that begins with a backslash is a command of psql
		case executedComment.MatchString(rest) && l.backslash &&
			executedComment.FindStringSubmatch(rest)[1] != "999999":
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

// comment skips a comment up to and including end. After a comment at the start of a line, the offset still counts as
// the start of the line.
func (l *lexer) comment(end string) {
	lineStart, n := l.lineStart, strings.Index(l.source[l.offset:], end)
	if n < 0 {
		n = len(l.source) - l.offset - len(end)
	}
	l.move(n + len(end))
	l.lineStart = l.lineStart || lineStart && end == "*/"
}

// isWord reports whether a character can be part of a word.
func isWord(c byte) bool {
	return c == '_' || c == '$' || c == '.' || c == '@' || c >= 0x80 || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' ||
		'a' <= c && c <= 'z'
}

// token reads the next token; false at the end of the dump. White space must have been skipped.
func (l *lexer) token() (t token, ok bool) {
	if l.offset >= len(l.source) {
		return t, false
	}
	t = token{start: l.offset, line: l.line}
	switch c := l.source[l.offset]; {
	case c == '\'':
		t.kind, t.text = text, l.quoted('\'', l.backslash)
	case c == '"' && l.backslash:
		t.kind, t.text = text, l.quoted('"', true)
	case c == '"', c == '`':
		t.kind, t.text = name, l.quoted(c, false)
	case c == '[' && l.brackets:
		t.kind, t.text = name, l.quoted(']', false)
	case isWord(c):
		end := l.offset
		for end < len(l.source) && isWord(l.source[end]) {
			end++
		}
		t.kind, t.text = word, l.source[l.offset:end]
		l.move(end - l.offset)
		l.prefixed(&t)
	default:
		t.kind, t.text = symbol, l.source[l.offset:l.offset+1]
		l.move(1)
	}
	t.end = l.offset
	return t, true
}

// prefixed reads the text after a word that is its prefix, as in N'a', E'a\n' and X'61', and turns the token into that
// text. It also converts a number such as 0x61 to a text.
func (l *lexer) prefixed(t *token) {
	textFollows := l.offset < len(l.source) && l.source[l.offset] == '\''
	switch {
	case textFollows && (t.is("N") || strings.HasPrefix(t.text, "_")):
		t.kind, t.text = text, l.quoted('\'', l.backslash)
	case textFollows && t.is("E"):
		t.kind, t.text = text, l.quoted('\'', true)
	case textFollows && t.is("X"):
		t.kind, t.text = text, unhex(l.quoted('\'', false))
	case textFollows && t.is("B"):
		t.kind, t.text = word, strings.TrimLeft(l.quoted('\'', false), "0")
		if t.text == "" {
			t.text = "0"
		}
	case len(t.text) > 2 && len(t.text)%2 == 0 && strings.EqualFold(t.text[:2], "0x"):
		t.kind, t.text = text, unhex(t.text[2:])
	}
}

// unhex decodes a text in hexadecimal digits. If the result is not a valid text, it returns the digits.
func unhex(digits string) string {
	if decoded, err := hex.DecodeString(digits); err == nil && utf8.Valid(decoded) {
		return string(decoded)
	}
	return digits
}

// escapes are the characters after a backslash that stand for other characters.
var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', '0': 0, 'Z': 26}

// quoted reads a text or name up to the quote end, and returns it without quotes and escapes. Within the text or name,
// the quote is doubled. backslash says that backslashes escape characters.
func (l *lexer) quoted(end byte, backslash bool) string {
	var out strings.Builder
	i := l.offset + 1
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
			l.move(i + 1 - l.offset)
			return out.String()
		}
		out.WriteByte(c)
	}
	l.move(i - l.offset)
	return out.String()
}
