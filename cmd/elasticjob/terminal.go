package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// terminal is the file of a terminal that something writes to or reads from, if it is one.
func terminal(stream any) (*os.File, bool) {
	for locked, ok := stream.(*lockedWriter); ok; locked, ok = stream.(*lockedWriter) {
		stream = locked.w
	}
	f, ok := stream.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// widthOf is how many characters fit into a line, or 0 where lines may be of any length.
func widthOf(w io.Writer) int {
	if f, ok := terminal(w); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return columns
		}
	}
	return 0
}

// style is how a text looks where there are colours.
type style string

const (
	plainText style = ""
	bold      style = "1"
	dim       style = "2"
	red       style = "31"
	green     style = "32"
	yellow    style = "33"
	cyan      style = "36"
)

// coloured reports whether colours may be written: to a terminal, unless its user wants none.
func (a *cli) coloured() bool {
	_, ok := terminal(a.out)
	return ok && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
}

func (s style) paint(text string, coloured bool) string {
	if s == plainText || !coloured || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// styleOf is how a state looks.
func styleOf(state string) style {
	switch state {
	case "FINISHED":
		return green
	case "FAILED", "TIMED_OUT", "LOST", "FAULTY":
		return red
	case "KILLED", "WAITING", "PAUSED", "SHUTTING_DOWN":
		return yellow
	case "RUNNING", "LAUNCHING":
		return cyan
	case "DISABLED", "APP_DISABLED", "NEVER":
		return dim
	}
	return plainText
}

// clean is a text that a terminal shows as it is: what the server or a job says may hold what would steer it.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return '�'
		}
		return r
	}, text)
}

// colourSequence matches what begins with an escape sequence for colours and the like (SGR), the only one that a
// job's output may have.
var colourSequence = regexp.MustCompile(`^\x1b\[[0-9;:]*m`)

// printable is a line of a job's output as a terminal may get it: with its colours, which end with the line, and �
// for each character that would steer the terminal otherwise, such as to write to the clipboard, set a title, or show
// a text in another order. The output of whoever may run a job is read by others.
func printable(line []byte) []byte {
	text, end, coloured := line, []byte(nil), false
	if bytes.HasSuffix(text, []byte{'\n'}) {
		text, end = bytes.TrimSuffix(text[:len(text)-1], []byte{'\r'}), []byte{'\n'}
	}
	out := make([]byte, 0, len(line))
	for rest := text; len(rest) > 0; {
		if sequence := colourSequence.Find(rest); sequence != nil {
			out, rest, coloured = append(out, sequence...), rest[len(sequence):], true
			continue
		}
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 || r != '\t' && !unicode.IsPrint(r) {
			out = append(out, "�"...)
		} else {
			out = append(out, rest[:size]...)
		}
		rest = rest[size:]
	}
	if coloured {
		out = append(out, "\x1b[0m"...)
	}
	return append(out, end...)
}

// steers reports whether a character may steer a terminal and is left as it is by JSON: DEL, C1, and what turns the
// order of a text round.
func steers(r rune) bool { return r >= 0x7f && r <= 0x9f || unicode.Is(unicode.Bidi_Control, r) }

// escaped is a text with \uXXXX for what steers a terminal, which is for documents in which that means the same.
func escaped(text []byte) []byte {
	if !bytes.ContainsFunc(text, steers) {
		return text
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		if steers(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

// oneLine is a text as one line.
func oneLine(text string) string { return clean(strings.Join(strings.Fields(text), " ")) }

// columns is how many columns of a terminal a text takes.
func columns(text string) (n int) {
	for _, r := range text {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch kind := width.LookupRune(r).Kind(); {
	case unicode.Is(unicode.Mn, r):
		return 0
	case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cut is the begin of a text that fits into so many columns, with … where something is missing.
func cut(text string, most int) string {
	if columns(text) <= most {
		return text
	}
	n := 0
	for i, r := range text {
		if n+runeColumns(r) > most-1 {
			return text[:i] + "…"
		}
		n += runeColumns(r)
	}
	return text
}
