package view

import (
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/secrets"
)

// matches reports whether each word, in lower case, is in the name, the app or the description. It searches the
// description as it is shown, so that a search cannot reveal a secret in it. Hiding secrets takes time, so it is done
// only if the stored description matches.
func (r *row) matches(words []string) bool {
	if r.config == nil {
		return r.containsAll(words, r.name)
	}
	app, description := r.config.AppName, r.config.Description
	return r.containsAll(words, r.name, app, description) &&
		r.containsAll(words, r.name, app, secrets.Hide(description))
}

// containsAll reports whether each word is in one of the texts.
func (r *row) containsAll(words []string, texts ...string) bool {
	for _, word := range words {
		if !slices.ContainsFunc(texts, func(text string) bool { return r.contains(text, word) }) {
			return false
		}
	}
	return true
}

// contains reports whether a text of the row contains a word, ignoring case. The word is in lower case. The text is
// copied only if the row has texts beyond ASCII, which few rows have.
func (r *row) contains(text, word string) bool {
	if r.beyondASCII {
		return strings.Contains(strings.ToLower(text), word)
	}
	lower, upper := word[0], word[0]
	if 'a' <= lower && lower <= 'z' {
		upper = lower - 'a' + 'A'
	}
	for i := 0; i <= len(text)-len(word); i++ {
		if c := text[i]; (c == lower || c == upper) && equalFold(text[i+1:i+len(word)], word[1:]) {
			return true
		}
	}
	return false
}

// equalFold reports whether an ASCII text equals a word of the same length in lower case, ignoring case.
func equalFold(text, word string) bool {
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
