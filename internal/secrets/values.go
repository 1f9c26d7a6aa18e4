package secrets

import (
	"regexp"
	"slices"
	"strings"
)

// quotes begin and end a quoted value, also one within a quoted text: the longer ones first.
var quotes = []string{`'\''`, `\\\"`, `\"`, `\'`, `"`, `'`}

// quoteAt returns the quote at the beginning of a text, or "".
func quoteAt(text string) string {
	for _, q := range quotes {
		if strings.HasPrefix(text, q) {
			return q
		}
	}
	return ""
}

// quoteBefore returns the quote at the end of a text, or "".
func quoteBefore(text string) string {
	for _, q := range quotes {
		if strings.HasSuffix(text, q) {
			return q
		}
	}
	return ""
}

// value is a value in a text: the bytes from from up to to without its quote. It ends at end, behind its quote.
type value struct {
	from, to, end int
	quote         string
}

// valueAt returns the value at a position: a quoted text, or a word.
func valueAt(text string, at int) value {
	from := at
	if at+1 < len(text) && strings.IndexByte("rbuRBU", text[at]) >= 0 && strings.IndexByte(`"'`, text[at+1]) >= 0 {
		from++ // a prefix of Python's texts
	}
	q := quoteAt(text[from:])
	if q == "" {
		end := wordEnd(text, at)
		return value{at, end, end, ""}
	}
	from += len(q)
	to := closing(text, from, q)
	if to < 0 {
		to = from + lengthUntil(text[from:], "\n")
		return value{from, to, to, q}
	}
	return value{from, to, to + len(q), q}
}

// wordAt returns the value that is a word of a command at a position. Shells join its parts: "a"b is one word.
func wordAt(text string, at int) value {
	v := valueAt(text, at)
	if rest := text[v.end:]; v.quote != "" && !endsWord(rest) {
		end := wordEnd(text, v.end)
		return value{at, end, end, ""}
	}
	return v
}

// closing returns the position of the quote that ends a quoted text, or -1.
func closing(text string, from int, q string) int {
	for i := from; i < len(text); {
		next := strings.Index(text[i:], q)
		if next < 0 {
			return -1
		}
		next += i
		slashes := 0
		for next-slashes > from && text[next-slashes-1] == '\\' {
			slashes++
		}
		switch {
		case q == `"` && slashes%2 == 1, q == `\"` && slashes%2 == 1:
			i = next + len(q)
		case q == "'" && slashes%2 == 1 && !endsWord(text[next+1:]): // escaped, as Python and JavaScript do it
			i = next + 1
		case q == "'" && strings.HasPrefix(text[next:], `'\''`): // a quote in the text, as shells write it
			i = next + len(`'\''`)
		default:
			return next
		}
	}
	return -1
}

// endsWord reports whether a word ends before the rest of a text.
func endsWord(rest string) bool {
	return rest == "" || strings.IndexByte(" \t\r\n;,&|<>(){}[]\"'`\\:./+", rest[0]) >= 0
}

// maxValue is how much of a value without quotes is read before it is known to be a secret, in bytes. It bounds the
// time for texts with many beginnings of values.
const maxValue = 512

// pairAhead matches the beginning of another pair after a comma.
var pairAhead = regexp.MustCompile(`^,\s*["']?[A-Za-z0-9_.-]{1,40}["']?\s*[:=]`)

// wordEnd returns the end of the word at a position, as shells see it. It also ends at a quote, comma or bracket that
// belongs to what the word is in.
func wordEnd(text string, at int) int {
	outer := func(i int) bool { return i >= len(text) || strings.IndexByte(" \t\r\n;,&|<>)}]\"'`\\", text[i]) >= 0 }
	limit := min(len(text), at+maxValue)
	for i := at; i < limit; {
		switch c := text[i]; {
		case strings.IndexByte(" \t\r\n;&|<>`", c) >= 0, strings.HasPrefix(text[i:], "$("):
			return i
		case c == ',':
			if outer(i+1) || pairAhead.MatchString(text[i:min(len(text), i+60)]) {
				return i
			}
			i++
		case strings.IndexByte(")}]", c) >= 0:
			if outer(i + 1) {
				return i
			}
			i++
		case strings.HasPrefix(text[i:], "${"):
			end := strings.IndexAny(text[i:min(len(text), i+maxName)], "}\n")
			i += max(end+1, len("${"))
		case c == '\\':
			if i+1 >= len(text) || strings.IndexByte("nrt\"'\n\\", text[i+1]) >= 0 {
				return i
			}
			i += 2
		case c == '"' || c == '\'':
			if outer(i + 1) {
				return i
			}
			length := strings.IndexAny(text[i+1:], string(c)+"\n")
			if length < 0 || text[i+1+length] != c {
				return i
			}
			if i += length + 2; i > limit {
				return i
			}
		default:
			i++
		}
	}
	return limit
}

var (
	// reference matches what stands for a value that is elsewhere.
	reference = regexp.MustCompile(`\$\w+|\$\{[^}]*\}|%\w+%|%\(\w+\)s|\{\w*\}|<[\w -]*>`)
	// constant matches a reference between single quotes, where shells do not expand it.
	constant = regexp.MustCompile(`^\$[a-z]`)
	// expression matches code whose result is the value.
	expression = regexp.MustCompile(`^[A-Za-z_][\w.]*[(\[]|^(?:self|this|args|config|cfg|settings|options|opts|os|env|process)\.[\w.]+$`)
	// place matches files, and addresses of vaults.
	place = regexp.MustCompile(`^(?:/(?:etc|run|var|home|opt|tmp|usr|secrets?|mnt|root|data|srv|proc|dev)/|\.{1,2}/|~/|[A-Za-z]:\\|@|[A-Za-z][\w+.-]*://|(?:env|file|fd|vault|ssm|arn|keychain|file_env):)`)
	// pattern matches a regular expression.
	pattern = regexp.MustCompile(`^(?:\.[*+]|\[\^|\\[a-zA-Z]|\(|[*?x./]+$|:\w+$|%[sdv]$|\?)`)
	// scheme matches what stands before the credentials in a header.
	scheme = regexp.MustCompile(`(?i)^(?:(?:basic|bearer|digest|token|apikey|negotiate|key)(?: |\\ )+|pass:)`)
	// words are values that say something about a secret.
	words = []string{"true", "false", "null", "none", "nil", "undefined", "yes", "no", "on", "off", "prompt", "ask", "stdin",
		"env", "required", "optional", "enabled", "disabled", "-", "…", "...", "string", "str", "text", "varchar"}
)

// isSecret reports whether a value is a secret itself.
func isSecret(v, quote string) bool {
	switch {
	case strings.Trim(v, "'\"\\") == "":
		return false // also where a quoted text was ended for a variable
	case strings.Contains(v, Hidden):
		return true
	case (quote == "'" || quote == `'\''`) && constant.MatchString(v):
		return true
	case slices.ContainsFunc([]string{"$(", "`", "{{", "#{", "${{", "@{"}, func(p string) bool { return strings.HasPrefix(v, p) }),
		slices.Contains(words, strings.ToLower(v)), place.MatchString(v), pattern.MatchString(v),
		quote == "" && (v[0] == '-' || expression.MatchString(v)):
		return false
	}
	rest := reference.ReplaceAllString(v, "")
	return rest == v || strings.Trim(rest, " \t,;:@/._-") != ""
}

// secretIn returns the secret in a value: without what stands before it in a header. It is empty if there is none.
func secretIn(text string, v value) Span {
	from, inner := v.from, text[v.from:v.to]
	if m := scheme.FindString(inner); len(m) < len(inner) {
		from += len(m)
	}
	if !isSecret(text[from:v.to], v.quote) {
		return Span{}
	}
	for to := v.to; v.quote == "" && to-v.from >= maxValue; { // the rest of a long one
		v.to = to
		if to = wordEnd(text, v.to); to == v.to {
			break
		}
	}
	return Span{From: from, To: v.to}
}
