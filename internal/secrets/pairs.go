package secrets

import (
	"regexp"
	"strings"
	"unicode"
)

// maxName is the greatest length of a name in bytes. Of a longer name only the end counts.
const maxName = 100

// pair is a name and a value with a sign between them, in code, JSON, YAML, properties, headers or a command.
type pair struct {
	name      string
	nameBegin int // the position of the name, or of its quote
	sign      string
	// quoted says that the name is in quotes. around is that quote or, if the name is not quoted, the quote before it.
	quoted bool
	around string
	// These say whether there are blanks before the sign, and after it.
	blankBefore, blankAfter bool
	valueBegin              int // the position of the value
}

// pairSecrets returns the secrets that are values of a name.
func pairSecrets(text string) []Span {
	var found []Span
	for i := 0; ; i++ {
		next := strings.IndexAny(text[i:], "=:>,-")
		if next < 0 {
			return append(found, namedValues(text)...)
		}
		i += next
		p, ok := pairAt(text, i)
		if !ok {
			continue
		}
		for _, s := range p.secrets(text) {
			if s.From < s.To {
				s.Name = strings.TrimLeft(p.name, "-")
				found = append(found, s)
				i = max(i, s.To-1)
			}
		}
	}
}

func isNameByte(c byte) bool {
	return c == '_' || c == '-' || c == '.' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// pairAt returns the pair whose sign is at position i. ok is false if there is no such pair, or if its name does not
// indicate a secret.
func pairAt(text string, i int) (p pair, ok bool) {
	p.sign = text[i : i+1]
	end := len(strings.TrimRight(text[max(0, i-maxName):i], " \t")) + max(0, i-maxName)
	p.blankBefore = end < i
	switch rest := text[i+1:]; {
	case strings.HasPrefix(rest, "="):
		if p.sign != ":" {
			return p, false // a comparison
		}
		p.sign = ":="
	case p.sign == "=" && (end == 0 || strings.IndexByte("=!<>~+", text[i-1]) >= 0),
		p.sign == ":" && (strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "//")):
		return p, false
	case p.sign == "=" && strings.HasPrefix(rest, ">"):
		p.sign = "=>"
	case p.sign == ":" && (strings.HasPrefix(rest, "-")):
		p.sign = ":-"
	}
	if p.sign == "=" && end > 0 && text[end-1] == ']' { // user[password]=x
		end--
	}
	if q := quoteBefore(text[:end]); q != "" {
		p.quoted, p.around = true, q
		end -= len(q)
	}
	begin := end
	for begin > 0 && end-begin < maxName && isNameByte(text[begin-1]) {
		begin--
	}
	p.name = text[begin:end]
	before := text[:begin]
	if p.quoted {
		if !strings.HasSuffix(before, p.around) {
			return p, false
		}
		before = before[:len(before)-len(p.around)]
	} else {
		p.around = quoteBefore(before)
	}
	p.nameBegin = len(before)
	isDefault := strings.HasSuffix(before, "${")
	switch {
	case isDefault:
		p.sign = "${"
		if strings.IndexByte(">,", text[i]) >= 0 || p.blankBefore {
			return p, false
		}
	case p.sign == "-" || p.sign == ":-":
		return p, false
	case p.sign == ">":
		if !strings.HasSuffix(before, "<") || p.blankBefore || p.quoted {
			return p, false
		}
	case p.sign == ",":
		if !p.quoted || !strings.HasSuffix(before, "(") {
			return p, false
		}
	}
	p.valueBegin = i + len(p.sign)
	if isDefault {
		p.valueBegin = i + 1
		if text[i] == ':' && p.valueBegin < len(text) {
			switch text[p.valueBegin] {
			case '-', '=': // ${NAME:-default}
				p.valueBegin++
			case '?', '+': // ${NAME:?message}
				return p, false
			}
		}
	}
	value := strings.TrimLeft(text[p.valueBegin:], " \t")
	for strings.HasPrefix(value, "\\ ") {
		value = value[2:]
	}
	p.blankAfter = len(text)-len(value) > p.valueBegin
	p.valueBegin = len(text) - len(value)
	return p, p.name != "" && value != "" &&
		(isCredentialHeader(p.name) || isValueName(strings.TrimPrefix(p.name, "-D")))
}

// isCredentialHeader reports whether a name is that of a header with credentials, alone or at the end of a longer one.
func isCredentialHeader(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "authorization") || name == "cookie" || name == "set-cookie" ||
		strings.HasSuffix(name, ".cookie")
}

// isHeader reports whether a name looks like the name of a header.
func isHeader(name string) bool {
	return isCredentialHeader(name) || strings.HasPrefix(strings.ToLower(name), "x-") ||
		strings.Contains(name, "-") && unicode.IsUpper(rune(name[0]))
}

// secrets returns the secrets in the value, some of which may be empty Spans.
func (p pair) secrets(text string) []Span {
	v := valueAt(text, p.valueBegin)
	if p.sign == "=" {
		v = wordAt(text, p.valueBegin)
	}
	switch {
	case p.sign == "${": // ${NAME:-value}
		end := strings.IndexAny(text[p.valueBegin:min(len(text), p.valueBegin+maxName)], "}\n")
		if end < 0 || text[p.valueBegin+end] != '}' {
			return nil
		}
		v = value{from: p.valueBegin, to: p.valueBegin + end}
		if q := quoteAt(text[p.valueBegin:v.to]); q != "" {
			v = valueAt(text, p.valueBegin)
		}
	case p.sign == ">": // <name>value</name>
		end := strings.Index(text[p.valueBegin:min(len(text), p.valueBegin+4096)], "</")
		if end < 0 {
			return nil
		}
		v = value{from: p.valueBegin, to: p.valueBegin + end, quote: `"`}
	case p.sign == ",": // f("name", "value")
		if rest := strings.TrimLeft(text[v.end:], " \t"); v.quote == "" || !strings.HasPrefix(rest, ")") {
			return nil
		}
	case p.quoted && text[p.valueBegin] == '[': // "name": ["value", "value"]
		return p.list(text)
	case text[p.valueBegin] == '[' || text[p.valueBegin] == '{' || !p.isValue(text, v):
		return nil
	case v.quote == "" && p.around != "" && !p.quoted && p.sign == ":": // "X-Api-Key: a b"
		if to := closingQuote(text, p.valueBegin, p.around); to >= 0 {
			v.to, v.quote = to, p.around
		}
	case v.quote == "" && p.isLine(text):
		line := text[p.valueBegin : p.valueBegin+lengthUntil(text[p.valueBegin:], "\r\n")]
		if !nextPair.MatchString(line) {
			v.to = p.valueBegin + len(strings.TrimRight(line, " \t"))
		}
	case v.quote == "" && isCredentialHeader(p.name):
		m := scheme.FindString(text[v.from:])
		isScheme := v.to > v.from && strings.TrimSpace(m) == text[v.from:v.to]
		if isScheme || v.to < len(text) && strings.HasSuffix(m, "\\ ") {
			v.to = wordEnd(text, v.from+len(m))
		}
	}
	if v.to-v.from <= 0 || v.quote == "" && p.isCode(text, v) {
		return nil
	}
	if strings.HasSuffix(strings.ToLower(p.name), "cookie") && !strings.ContainsAny(text[v.from:v.to], "=*") {
		return nil
	}
	return []Span{secretIn(text, v)}
}

// list returns the secrets among the quoted texts of a list. It stops at the first element that is not quoted.
func (p pair) list(text string) (found []Span) {
	for i := p.valueBegin + 1; i < len(text); {
		i += len(text[i:]) - len(strings.TrimLeft(text[i:], " \t\r\n,"))
		if quoteAt(text[i:]) == "" {
			return found
		}
		v := valueAt(text, i)
		found = append(found, secretIn(text, v))
		i = v.end
	}
	return found
}

// nextPair matches another pair in the same line.
var nextPair = regexp.MustCompile(`[\s,;&]["']?[\w.-]+["']?(?:=|: )`)

// isLine reports whether the pair is a line of a properties or YAML file, whose value ends with the line. It returns
// false for a line that may be a command.
func (p pair) isLine(text string) bool {
	line := strings.TrimRight(text[max(0, p.nameBegin-maxName):p.nameBegin], " \t-")
	return (line == "" || strings.HasSuffix(line, "\n")) && !strings.HasPrefix(p.name, "-") &&
		(p.sign == ":" && p.blankAfter || p.sign == "=" && (p.blankBefore || strings.Contains(p.name, ".")))
}

// isKeyPosition reports whether a name stands where a key may be, such as at the beginning of a line, of a quoted text
// or of an object, or after a comma.
func (p pair) isKeyPosition(text string) bool {
	before := strings.TrimRight(text[max(0, p.nameBegin-maxName):p.nameBegin], " \t")
	return before == "" || strings.IndexByte("\n{,[(\"';&?-", before[len(before)-1]) >= 0
}

// isValue reports whether the value belongs to the name. It judges by the blanks and quotes around the sign.
func (p pair) isValue(text string, v value) bool {
	before := byte('\n')
	if p.nameBegin > 0 {
		before = text[p.nameBegin-1]
	}
	isLiteral := v.quote != ""
	looksSecret := func() bool { return isLiteral || p.isKeyPosition(text) || isMixed(text[v.from:v.to]) }
	switch {
	case before == '$' && !p.quoted:
		return p.sign != ":" && isLiteral
	case p.sign == ":" && p.blankAfter:
		return p.quoted || p.around != "" || isHeader(p.name) || looksSecret()
	case p.sign == ":" && before == '/':
		return p.nameBegin < 2 || strings.IndexByte(" \t\n", text[p.nameBegin-2]) >= 0 && text[p.valueBegin] != '/'
	case p.sign == ":":
		return p.quoted || isLiteral || isHeader(p.name) && text[p.valueBegin] != '/'
	case !p.blankBefore && !p.blankAfter:
		return before != '%' && !(p.name == "PWD" && text[p.valueBegin] == '/')
	case !p.blankBefore && isShellName(p.name):
		return false // an empty variable before a command
	default:
		return looksSecret()
	}
}

// isShellName reports whether a name looks like the name of a shell's variable or an option.
func isShellName(name string) bool {
	return strings.HasPrefix(name, "-") || strings.ToUpper(name) == name || !strings.ContainsAny(name, ".-")
}

// isMixed reports whether a word is likely a secret, because it has letters and digits, or asterisks.
func isMixed(word string) bool {
	return len(word) >= 6 && strings.ContainsAny(word, "0123456789*") && strings.ContainsFunc(word, unicode.IsLetter) ||
		strings.Contains(word, Hidden)
}

// isCode reports whether the value is a variable with the name of the argument, as in connect(password=password).
func (p pair) isCode(text string, v value) bool {
	word := text[v.from:v.to]
	return strings.EqualFold(word, p.name) && v.to < len(text) && strings.IndexByte(",)", text[v.to]) >= 0
}

// named matches a name and a value that are two entries of an object, in JSON, YAML or XML.
var named = regexp.MustCompile(
	`\b(?:name|key)["']?\s?[:=]\s?["']?([\w.-]{1,100})["']?\s*,?\s*["']?value["']?\s?[:=]\s*`)

// namedValues returns the secrets whose names are values themselves: {"name":"password","value":"x"}.
func namedValues(text string) (found []Span) {
	if !strings.Contains(text, "value") {
		return nil
	}
	for _, m := range named.FindAllStringSubmatchIndex(text, -1) {
		name := text[m[2]:m[3]]
		if m[1] == len(text) || !isValueName(name) {
			continue
		}
		if s := secretIn(text, valueAt(text, m[1])); s.From < s.To {
			s.Name = name
			found = append(found, s)
		}
	}
	return found
}
