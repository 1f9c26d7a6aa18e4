package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// screen writes the demo's output, in colour if it is a terminal.
type screen struct {
	out    io.Writer
	styles bool // with colours and bold text
}

func newScreen(f *os.File) *screen {
	info, err := f.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	return &screen{out: f, styles: terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (s *screen) styled(style, text string) string {
	if !s.styles {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// step writes the title of a part.
func (s *screen) step(format string, args ...any) {
	fmt.Fprintf(s.out, "\n%s\n", s.styled("1;34", "== "+fmt.Sprintf(format, args...)))
}

// text writes a remark.
func (s *screen) text(format string, args ...any) {
	fmt.Fprintf(s.out, "   %s\n", fmt.Sprintf(format, args...))
}

// command writes a command that a user could type.
func (s *screen) command(format string, args ...any) {
	fmt.Fprintf(s.out, "   %s\n", s.styled("32", "$ "+fmt.Sprintf(format, args...)))
}

// event writes something that has just happened.
func (s *screen) event(who, format string, args ...any) {
	fmt.Fprintf(s.out, "   %s  %s  %s\n", s.styled("2", time.Now().Format(time.TimeOnly)),
		s.styled("1", fmt.Sprintf("%-14s", who)), fmt.Sprintf(format, args...))
}

// quote writes the output of a job without control characters.
func (s *screen) quote(text string) {
	printable := func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}
	for line := range strings.Lines(text) {
		fmt.Fprintf(s.out, "             %s %s\n", s.styled("2", "|"), strings.Map(printable, line))
	}
}

// count returns a number with its noun, "1 shard" or "3 shards".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
