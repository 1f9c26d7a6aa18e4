package core

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// counted says "1 time" or "3 times".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// shorten keeps of a long cause its beginning, which says what happened, and its end,
// which is the end of a task's output.
func shorten(cause string) string {
	if over := len(cause) - causeBytes; over > 0 {
		head := causeBytes / 4
		cause = strings.ToValidUTF8(cause[:head], "") + "…" + strings.ToValidUTF8(cause[head+over:], "")
	}
	// What JSON writes as six letters would make records too large for a commit.
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' {
			return '?'
		}
		return r
	}, cause)
}
