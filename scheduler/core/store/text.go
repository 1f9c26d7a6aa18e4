package store

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// Shorten limits a cause to about CauseBytes. It keeps the beginning, which says what happened, and the end, which is
// the end of a task's output.
func Shorten(cause string) string {
	if over := len(cause) - CauseBytes; over > 0 {
		head := CauseBytes / 4
		cause = strings.ToValidUTF8(cause[:head], "") + "…" + strings.ToValidUTF8(cause[head+over:], "")
	}
	// Characters that JSON encodes as six letters would make records too large for a commit.
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' {
			return '?'
		}
		return r
	}, cause)
}

// Fingerprint returns 16 hexadecimal digits that stand for a text that is long or secret.
func Fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
