package secrets

import (
	"slices"
	"strings"
	"unicode"
)

// secretWords are endings of words. A name indicates a secret if one of its words ends with one of them, or if two
// adjacent words do when they are joined, such as "api" and "key".
var secretWords = []string{
	"password", "passwords", "passwd", "pwd", "passphrase", "secret", "secrets", "token", "credential", "credentials",
	"apikey", "apikeys", "accesskey", "accesskeys", "privatekey", "privatekeys", "authkey", "accountkey", "sharedkey",
	"subscriptionkey", "signingkey", "encryptionkey", "passcode", "bearer", "jwt", "dbpass", "userpass", "storepass",
	"keypass", "requirepass",
}

// IsName reports whether a name, in snake, kebab, camel or dotted case, indicates a secret value. That is so if one of
// its words is or ends with "password", "secret", "token" or another of secretWords, if two of its words are "api
// key", "access key" or "private key", or if its last word is "pass".
func IsName(name string) bool {
	last := ""
	for _, word := range wordsOf(name) {
		if slices.ContainsFunc(secretWords, func(end string) bool { return strings.HasSuffix(last+word, end) }) {
			return true
		}
		last = word
	}
	return last == "pass"
}

// In a text, a name that ends with one of lastWords or begins with one of firstWords does not name a secret. It says
// something about a secret, such as --password-file, --token-count and --ask-password.
var (
	lastWords = []string{"file", "files", "path", "dir", "folder", "url", "uri", "endpoint", "host", "name", "names",
		"id", "count", "limit", "length", "len", "size", "min", "max", "ttl", "timeout", "expiry", "expires",
		"expiration", "age", "type", "kind", "format", "policy", "manager", "store", "provider", "service", "env",
		"var", "stdin", "prompt", "field", "column", "header", "param", "index", "version", "ref", "arn", "label",
		"fd", "command", "program", "helper", "enabled", "required", "reset", "rotation", "days", "interval",
		"strength", "regex", "pattern", "description", "budget", "usage", "price", "rate", "mode", "audience", "scope",
		"issuer", "class", "encoder"}
	firstWords = []string{"no", "ask", "use", "with", "without", "skip", "show", "has", "is", "require", "requires",
		"prompt", "max", "min", "num", "generate", "reset", "change", "forget", "hide", "mask", "disable", "enable",
		"allow", "verify", "check", "need", "get", "list"}
)

// isValueName reports whether a name in a text indicates that the value after it is a secret.
func isValueName(name string) bool {
	if !IsName(name) {
		return false
	}
	words := wordsOf(name)
	last := words[len(words)-1]
	if last == "id" && len(words) > 1 { // an access key id is hidden like the key
		joined := strings.Join(words, "")
		return strings.HasSuffix(joined, "accesskeyid")
	}
	return !slices.Contains(lastWords, last) && (len(words) == 1 || !slices.Contains(firstWords, words[0]))
}

// wordsOf splits a name at non-letters and before capitals: dbPassword, API_KEY2 and APIKey have two words each.
func wordsOf(name string) []string {
	var words []string
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return !unicode.IsLetter(r) }) {
		letters, from := []rune(part), 0
		for i := 1; i < len(letters); i++ {
			begins := unicode.IsUpper(letters[i]) &&
				(unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
			if begins {
				words = append(words, strings.ToLower(string(letters[from:i])))
				from = i
			}
		}
		words = append(words, strings.ToLower(string(letters[from:])))
	}
	return words
}
