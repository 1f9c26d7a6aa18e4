package main

import (
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// terminal is the file of a terminal that something writes to or reads from, if it is one.
func terminal(stream any) (*os.File, bool) {
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
