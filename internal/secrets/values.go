package secrets

import (
	"regexp"
	"slices"
	"strings"
)

// quotes are the quotes around values, including escaped quotes inside a quoted text. The first match counts, so a
// longer quote comes before each shorter one that it begins or ends with: quoteAt looks at the beginning of a text,
// quoteBefore at its end.
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

// value is the part text[from:to] of a text. quote is the quote around this part. If quote is "", the value is a word,
// which may contain quotes. end is the position after the closing quote; without a closing quote, it equals to.
type value struct {
	from, to, end int
	quote         string
}

// valueAt returns the value at a position: a quoted text, or a word. A quoted text without a closing quote ends with
// the line.
func valueAt(text string, at int) value {
	from := at
	if at+1 < len(text) && strings.IndexByte("rbuRBU", text[at]) >= 0 && strings.IndexByte(`"'`, text[at+1]) >= 0 {
		from++ // the prefix of a Python string literal, such as b"x"
	}
	q := quoteAt(text[from:])
	if q == "" {
		end := wordEnd(text, at)
		return value{at, end, end, ""}
	}
	from += len(q)
	to := closingQuote(text, from, q)
	if to < 0 {
		to = from + lengthUntil(text[from:], "\n")
		return value{from, to, to, q}
	}
	return value{from, to, to + len(q), q}
}

// wordAt returns the word of a command at a position. A shell joins adjacent parts: "a"b is one word.
func wordAt(text string, at int) value {
	v := valueAt(text, at)
	if rest := text[v.end:]; v.quote != "" && !isDelimited(rest) {
		end := wordEnd(text, v.end)
		return value{at, end, end, ""}
	}
	return v
}

// closingQuote returns the position of the quote q that closes a quoted text, or -1 if there is none. from is the
// position after the opening quote. Escaped quotes do not close the text.
func closingQuote(text string, from int, q string) int {
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
		case q == `"` && slashes%2 == 1,
			// In a JSON text within a JSON text, two more backslashes escape the quote, and four are a backslash
			// at the end of the quoted text.
			q == `\"` && (slashes%2 == 1 || slashes%4 == 2):
			i = next + len(q)
		case q == "'" && slashes%2 == 1 && !isDelimited(text[next+1:]): // escaped, as Python and JavaScript do it
			i = next + 1
		case q == "'" && strings.HasPrefix(text[next:], `'\''`): // a quote in the text, as shells write it
			i = next + len(`'\''`)
		default:
			return next
		}
	}
	return -1
}

// isDelimited reports whether a quoted text ends a word. rest is the text after it, which is then empty or begins with
// a delimiter. There are more delimiters than those at which wordEnd stops.
func isDelimited(rest string) bool {
	return rest == "" || strings.IndexByte(" \t\r\n;,&|<>(){}[]\"'`\\:./+", rest[0]) >= 0
}

// maxUnquotedScan is the number of bytes after which wordEnd stops; only a quoted part of the word may exceed it.
// isSecret judges a longer value by these bytes alone; if it is a secret, secretIn extends it to its end. The limit
// bounds the time for a hostile text with many beginnings of values.
const maxUnquotedScan = 512

// pairAhead matches the beginning of another pair after a comma.
var pairAhead = regexp.MustCompile(`^,\s*["']?[A-Za-z0-9_.-]{1,40}["']?\s*[:=]`)

// wordEnd returns the end of the word at a position, as shells see it, or of its first part if the word is longer than
// maxUnquotedScan. The word also ends at a quote, comma or bracket that closes the text around it.
func wordEnd(text string, at int) int {
	// endsValue reports whether a value ends before the byte at i.
	endsValue := func(i int) bool {
		return i >= len(text) || strings.IndexByte(" \t\r\n;,&|<>)}]\"'`\\", text[i]) >= 0
	}
	limit := min(len(text), at+maxUnquotedScan)
	for i := at; i < limit; {
		switch c := text[i]; {
		case strings.IndexByte(" \t\r\n;&|<>`", c) >= 0, strings.HasPrefix(text[i:], "$("):
			return i
		case c == ',':
			if endsValue(i+1) || pairAhead.MatchString(text[i:min(len(text), i+60)]) {
				return i
			}
			i++
		case strings.IndexByte(")}]", c) >= 0:
			if endsValue(i + 1) {
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
			if endsValue(i + 1) {
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
	// reference matches placeholders, such as $NAME.
	reference = regexp.MustCompile(`\$\w+|\$\{[^}]*\}|%\w+%|%\(\w+\)s|\{\w*\}|<[\w -]*>`)
	// literalDollar matches a $ and a lower-case letter at the beginning of a value. Between single quotes, where
	// shells expand nothing, such a value is not a reference. '$NAME' in capitals counts as a reference even there.
	literalDollar = regexp.MustCompile(`^\$[a-z]`)
	// expression matches code whose result is the value.
	expression = regexp.MustCompile(
		`^[A-Za-z_][\w.]*[(\[]|^(?:self|this|args|config|cfg|settings|options|opts|os|env|process)\.[\w.]+$`)
	// location matches the beginning of a file path, of a URL, or of a reference to a secret store. Such a value is not
	// a secret.
	location = regexp.MustCompile(`^(?:/(?:etc|run|var|home|opt|tmp|usr|secrets?|mnt|root|data|srv|proc|dev)/|\.{1,2}/|~/|[A-Za-z]:\\|@|[A-Za-z][\w+.-]*://|(?:env|file|fd|vault|ssm|arn|keychain|file_env):)`)
	// nonLiteral matches the beginning of a regular expression, a placeholder of SQL (:name, ?) or of printf (%s), and
	// a mask such as ***.
	nonLiteral = regexp.MustCompile(`^(?:\.[*+]|\[\^|\\[a-zA-Z]|\(|[*?x./]+$|:\w+$|%[sdv]$|\?)`)
	// scheme matches what stands before a secret in a value: the scheme of an Authorization header, or openssl's
	// pass:.
	scheme = regexp.MustCompile(`(?i)^(?:(?:basic|bearer|digest|token|apikey|negotiate|key)(?: |\\ )+|pass:)`)
	// notSecretWords are words that are never secrets.
	notSecretWords = []string{"true", "false", "null", "none", "nil", "undefined", "yes", "no", "on", "off", "prompt",
		"ask", "stdin", "env", "required", "optional", "enabled", "disabled", "-", "…", "...", "string", "str", "text",
		"varchar"}
)

// isSecret reports whether a value is a secret, and not a reference to a secret, code, a path, or a word such as
// true.
func isSecret(v, quote string) bool {
	switch {
	case strings.Trim(v, "'\"\\") == "":
		return false // empty, or a quote that closes only to insert a variable
	case strings.Contains(v, Hidden):
		return true // so that Find finds the same secrets in a text whose secrets are hidden
	case (quote == "'" || quote == `'\''`) && literalDollar.MatchString(v):
		return true
	case slices.ContainsFunc([]string{"$(", "`", "{{", "#{", "${{", "@{"},
		func(prefix string) bool { return strings.HasPrefix(v, prefix) }),
		slices.Contains(notSecretWords, strings.ToLower(v)), location.MatchString(v), nonLiteral.MatchString(v),
		quote == "" && (v[0] == '-' || expression.MatchString(v)):
		return false
	}
	rest := reference.ReplaceAllString(v, "")
	return rest == v || strings.Trim(rest, " \t,;:@/._-") != ""
}

// secretIn returns the secret in a value, without the scheme before it. It returns an empty Span if the value is not a
// secret.
func secretIn(text string, v value) Span {
	from, inner := v.from, text[v.from:v.to]
	if m := scheme.FindString(inner); len(m) < len(inner) {
		from += len(m)
	}
	if !isSecret(text[from:v.to], v.quote) {
		return Span{}
	}
	for to := v.to; v.quote == "" && to-v.from >= maxUnquotedScan; { // extends a long unquoted value to its end
		v.to = to
		if to = wordEnd(text, v.to); to == v.to {
			break
		}
	}
	return Span{From: from, To: v.to}
}
