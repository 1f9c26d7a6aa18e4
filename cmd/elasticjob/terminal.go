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

// terminal returns the file of a stream, and whether it is a terminal.
func terminal(stream any) (*os.File, bool) {
	for locked, ok := stream.(*lockedWriter); ok; locked, ok = stream.(*lockedWriter) {
		stream = locked.w
	}
	f, ok := stream.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// widthOf returns the width of the terminal in columns. It returns 0, which means lines of any length, if w is not a
// terminal or has no width.
func widthOf(w io.Writer) int {
	if f, ok := terminal(w); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return columns
		}
	}
	return 0
}

// style is the style of a text on a terminal with colours: the parameter of an SGR escape sequence.
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

// coloured reports whether the output has colours: it must be a terminal, and the user must not have disabled them.
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

// styleOf returns the style of a state.
func styleOf(state string) style {
	switch state {
	case "FINISHED":
		return green
	case "FAILED", "TIMED_OUT", "LOST", "FAULTY":
		return red
	case "KILLED", "WAITING", "PAUSED", "SHUTTING_DOWN", "CORDONED", "DRAINING":
		return yellow
	case "RUNNING", "LAUNCHING":
		return cyan
	case "DISABLED", "APP_DISABLED", "NEVER":
		return dim
	}
	return plainText
}

// clean replaces control characters, because texts of the server or of a job could otherwise control the terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return '�'
		}
		return r
	}, text)
}

// colourSequence matches an escape sequence for colours and styles (SGR). No other escape sequence of a job's output
// is printed.
var colourSequence = regexp.MustCompile(`^\x1b\[[0-9;:]*m`)

// printable returns a line of a job's output for a terminal. It keeps colours, and resets them at the end of the line.
// It replaces by � all other characters that could control the terminal: they could write to the clipboard, set a
// title, or change the order of a text. This matters because users read the output of jobs of other users.
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

// isControl reports whether a character may control a terminal although JSON does not escape it: DEL, C1 controls, and
// controls of the text direction.
func isControl(r rune) bool { return r >= 0x7f && r <= 0x9f || unicode.Is(unicode.Bidi_Control, r) }

// escaped replaces the characters of isControl by \uXXXX. It is for JSON and YAML, in which both mean the same.
func escaped(text []byte) []byte {
	if !bytes.ContainsFunc(text, isControl) {
		return text
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		if isControl(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

// oneLine returns a text as one line.
func oneLine(text string) string { return clean(strings.Join(strings.Fields(text), " ")) }

// columns returns the width of a text in columns of a terminal.
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

// cut shortens a text to limit columns; … marks the missing part.
func cut(text string, limit int) string {
	if columns(text) <= limit {
		return text
	}
	n := 0
	for i, r := range text {
		if n+runeColumns(r) > limit-1 {
			return text[:i] + "…"
		}
		n += runeColumns(r)
	}
	return text
}
