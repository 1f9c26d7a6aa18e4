package app

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// SplitCommand splits a command line into words as a POSIX shell does: blanks separate words; single quotes, double
// quotes and backslashes quote. Nothing is expanded and no shell is started, so unquoted characters that would need a
// shell are refused: | & ; < > $ ` and a line break between commands. The words are the program and its arguments;
// there is always a program.
//
// In the program's name, and in the script of an interpreter, a backslash before a letter separates folders, because
// the original's manual writes bin\start.sh. A shell would drop it, which nobody means.
func SplitCommand(line string) ([]string, error) {
	s := splitter{line: line}
	for s.at < len(line) {
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

type splitter struct {
	line   string
	at     int
	words  []string
	word   strings.Builder
	inWord bool // within a word, which may be empty and quoted
}

func (s *splitter) endWord() {
	if s.inWord {
		s.words = append(s.words, s.word.String())
		s.word.Reset()
		s.inWord = false
	}
}

// next reads one unquoted character or one quoted part.
func (s *splitter) next() error {
	switch c := s.line[s.at]; c {
	case ' ', '\t', '\r':
		s.endWord()
	case '\n':
		s.endWord()
		if len(s.words) > 0 && strings.TrimSpace(s.line[s.at:]) != "" {
			return s.needsShell("line break")
		}
	case '|', '&', ';', '<', '>', '$', '`':
		return s.needsShell(fmt.Sprintf("'%c'", c))
	case '\'':
		end := strings.IndexByte(s.line[s.at+1:], '\'')
		if end < 0 {
			return fmt.Errorf("the single quote at column %d is never closed; write \\' for the character itself",
				s.column())
		}
		s.add(s.line[s.at+1 : s.at+1+end])
		s.at += end + 1
	case '"':
		return s.doubleQuoted()
	case '\\':
		if n := s.separator(); n > 0 {
			s.add("/")
			s.at += n
			return nil
		}
		if s.at+1 == len(s.line) {
			return errors.New("it ends with a backslash that quotes nothing; write \\\\ for the character itself")
		}
		s.at++
		if s.line[s.at] != '\n' { // a quoted line break continues the line
			s.add(s.line[s.at : s.at+1])
		}
	default:
		s.add(s.line[s.at : s.at+1])
	}
	s.at++
	return nil
}

// separator returns the length of the unquoted backslash, or two of them, at the current character if it separates
// folders of the program's path; 0 if it quotes a character.
func (s *splitter) separator() int {
	if len(s.words) > 1 || len(s.words) == 1 && !interpreters[s.words[0]] {
		return 0
	}
	rest := strings.TrimPrefix(s.line[s.at+1:], `\`)
	if rest == "" || strings.IndexByte("._-", rest[0]) < 0 && !isAlphanumeric(rest[0]) {
		return 0
	}
	return len(s.line) - s.at - len(rest)
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// interpreters are programs whose first argument is often a script of the package.
var interpreters = map[string]bool{"sh": true, "bash": true, "/bin/sh": true, "/bin/bash": true, "python": true,
	"python3": true, "perl": true, "ruby": true, "node": true, "php": true}

// doubleQuoted reads up to the closing quote. Inside, a backslash quotes only the characters that are special there.
func (s *splitter) doubleQuoted() error {
	opened := s.column()
	s.add("")
	for s.at++; s.at < len(s.line); s.at++ {
		switch c := s.line[s.at]; {
		case c == '"':
			s.at++
			return nil
		case c == '\\' && s.at+1 < len(s.line) && strings.IndexByte("$`\"\\\n", s.line[s.at+1]) >= 0:
			s.at++
			if s.line[s.at] != '\n' {
				s.add(s.line[s.at : s.at+1])
			}
		default:
			s.add(s.line[s.at : s.at+1])
		}
	}
	return fmt.Errorf("the double quote at column %d is never closed; write \\\" for the character itself", opened)
}

func (s *splitter) add(text string) {
	s.word.WriteString(text)
	s.inWord = true
}

// column returns the position of the current character, counted in characters from 1.
func (s *splitter) column() int { return utf8.RuneCountInString(s.line[:s.at]) + 1 }

func (s *splitter) needsShell(what string) error { return shellError{what, s.column()} }

// shellError is the error for a character that only a shell understands.
type shellError struct {
	what   string
	column int
}

func (e shellError) Error() string {
	return fmt.Sprintf("unquoted %s at column %d: no shell is started; if you want one write sh -c '…', else quote it",
		e.what, e.column)
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

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)
