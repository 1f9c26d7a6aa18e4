package view

import (
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/secrets"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// matches reports whether each word, in lower case, is in the name, the app or the description.
func (r *row) matches(words []string) bool {
	for _, word := range words {
		if !r.contains(r.name, word) && (r.config == nil || !r.contains(r.config.AppName, word) &&
			!r.describes(r.config, word)) {
			return false
		}
	}
	return true
}

// describes reports whether the description contains a word. It searches the description as it is shown, so that a
// search cannot reveal a secret in it.
func (r *row) describes(c *jobs.Config, word string) bool {
	return r.contains(c.Description, word) && r.contains(secrets.Hide(c.Description), word)
}

// contains reports whether a text of the row contains a word, ignoring case. The word is in lower case. It does not
// copy the text if the row has only ASCII texts, as most rows do.
func (r *row) contains(text, word string) bool {
	if r.beyondASCII {
		return strings.Contains(strings.ToLower(text), word)
	}
	small, large := word[0], word[0]
	if 'a' <= small && small <= 'z' {
		large = small - 'a' + 'A'
	}
	for i := 0; i <= len(text)-len(word); i++ {
		if c := text[i]; (c == small || c == large) && equal(text[i+1:i+len(word)], word[1:]) {
			return true
		}
	}
	return false
}

func equal(text, word string) bool {
	for i := range len(text) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// isASCII reports whether texts have only ASCII characters.
func isASCII(texts ...string) bool {
	for _, text := range texts {
		for i := range len(text) {
			if text[i] >= 0x80 {
				return false
			}
		}
	}
	return true
}
