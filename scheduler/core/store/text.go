package store

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// shorten keeps of a long cause its beginning, which says what happened, and its end,
// which is the end of a task's output.
func Shorten(cause string) string {
	if over := len(cause) - CauseBytes; over > 0 {
		head := CauseBytes / 4
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

// Fingerprint stands for a text that is long, or secret.
func Fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
