package app

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// SplitCommand splits a command line into words as a POSIX shell does: blanks separate words; single quotes, double
// quotes and backslashes quote. It expands nothing, and no shell is started. So it refuses unquoted characters that
// only a shell understands: | & ; < > $ ` and a line break between commands. The words are the program and its
// arguments; a result always has a program.
//
// In the program's name, and in the first argument of an interpreter, an unquoted backslash before a letter, a digit,
// '.', '_' or '-' separates folders, because the original's manual writes bin\start.sh. A shell would drop this
// backslash, which no user intends.
func SplitCommand(line string) ([]string, error) {
	s := splitter{line: line}
	for s.offset < len(line) {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	s.endWord()
	switch {
	case len(s.words) == 0:
		return nil, errors.New("it holds no command")
	case s.words[0] == "":
		return nil, errors.New("its first word, the program to run, is empty")
	}
	return s.words, nil
}

// splitter is the state of one SplitCommand.
type splitter struct {
	line   string
	offset int      // of the next character to read
	words  []string // the complete words
	word   strings.Builder
	inWord bool // whether word has begun; it may still be empty, as after two quotes
}

// endWord completes the current word, if one has begun.
func (s *splitter) endWord() {
	if s.inWord {
		s.words = append(s.words, s.word.String())
		s.word.Reset()
		s.inWord = false
	}
}

// next reads one unquoted character or one quoted part.
func (s *splitter) next() error {
	switch c := s.line[s.offset]; c {
	case ' ', '\t', '\r':
		s.endWord()
	case '\n':
		s.endWord()
		if len(s.words) > 0 && strings.TrimSpace(s.line[s.offset:]) != "" {
			return s.needsShell("line break")
		}
	case '|', '&', ';', '<', '>', '$', '`':
		return s.needsShell(fmt.Sprintf("'%c'", c))
	case '\'':
		end := strings.IndexByte(s.line[s.offset+1:], '\'')
		if end < 0 {
			return fmt.Errorf("the single quote at column %d is never closed; write \\' for the character itself",
				s.column())
		}
		s.add(s.line[s.offset+1 : s.offset+1+end])
		s.offset += end + 1
	case '"':
		return s.doubleQuoted()
	case '\\':
		if n := s.separator(); n > 0 {
			s.add("/")
			s.offset += n
			return nil
		}
		if s.offset+1 == len(s.line) {
			return errors.New("it ends with a backslash that quotes nothing; write \\\\ for the character itself")
		}
		s.offset++
		if s.line[s.offset] != '\n' { // a quoted line break continues the line
			s.add(s.line[s.offset : s.offset+1])
		}
	default:
		s.add(s.line[s.offset : s.offset+1])
	}
	s.offset++
	return nil
}

// separator returns how many of the backslashes at the current character separate two folders of the program's path:
// 1, or 2 if the backslash is doubled. It returns 0 if the backslash quotes a character.
func (s *splitter) separator() int {
	if len(s.words) > 1 || len(s.words) == 1 && !interpreters[s.words[0]] {
		return 0
	}
	rest := strings.TrimPrefix(s.line[s.offset+1:], `\`)
	if rest == "" || strings.IndexByte("._-", rest[0]) < 0 && !isAlphanumeric(rest[0]) {
		return 0
	}
	return len(s.line) - s.offset - len(rest)
}

// isAlphanumeric reports whether a character is an ASCII letter or digit.
func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// interpreters are programs whose first argument is often a script of the package.
var interpreters = map[string]bool{"sh": true, "bash": true, "/bin/sh": true, "/bin/bash": true, "python": true,
	"python3": true, "perl": true, "ruby": true, "node": true, "php": true}

// doubleQuoted reads up to the closing quote. Between the quotes, a backslash quotes only the characters that are
// special there.
func (s *splitter) doubleQuoted() error {
	opened := s.column()
	s.add("")
	for s.offset++; s.offset < len(s.line); s.offset++ {
		switch c := s.line[s.offset]; {
		case c == '"':
			s.offset++
			return nil
		case c == '\\' && s.offset+1 < len(s.line) && strings.IndexByte("$`\"\\\n", s.line[s.offset+1]) >= 0:
			s.offset++
			if s.line[s.offset] != '\n' {
				s.add(s.line[s.offset : s.offset+1])
			}
		default:
			s.add(s.line[s.offset : s.offset+1])
		}
	}
	return fmt.Errorf("the double quote at column %d is never closed; write \\\" for the character itself", opened)
}

// add appends text to the current word, and begins a word if there is none. The text may be empty.
func (s *splitter) add(text string) {
	s.word.WriteString(text)
	s.inWord = true
}

// column returns the position of the current character, counted in characters from 1.
func (s *splitter) column() int { return utf8.RuneCountInString(s.line[:s.offset]) + 1 }

// needsShell returns the error for a character at the current column.
func (s *splitter) needsShell(character string) error { return shellError{character, s.column()} }

// shellError is the error for a character that only a shell understands.
type shellError struct {
	character string // as named in the message
	column    int
}

func (e shellError) Error() string {
	return fmt.Sprintf("unquoted %s at column %d: no shell is started; if you want one write sh -c '…', else quote it",
		e.character, e.column)
}

// JoinCommand returns a command line that SplitCommand splits into these words.
func JoinCommand(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		if quoted[i] = word; !plainWord.MatchString(word) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// plainWord matches words that need no quotes.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)
