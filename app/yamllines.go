package app

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parseLines reads the YAML that the original writes nearly always and we write
// always: one field in a line, plain or in quotes, perhaps folded, maps by two spaces. It is some thirty
// times faster than parseYAML, takes any size, and gives up on whatever could mean something else.
func parseLines(doc []byte) ([]entry, bool) {
	if !utf8.Valid(doc) || len(doc) == 0 || doc[len(doc)-1] != '\n' {
		return nil, false
	}
	out := make([]entry, 0, 24)
	text := string(doc)
	inMap := false
	var seen, seenNested map[string]bool // of many names
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		nested := strings.HasPrefix(line, "  ")
		indent := 0
		if nested {
			line, indent = line[2:], 2
		}
		name, value, ok := splitLine(line)
		if nested && !inMap {
			return nil, false
		}
		if value, text, ok = folded(line, value, ok, text, indent); !ok {
			return nil, false
		}
		var repeated bool
		switch {
		case nested:
			last := &out[len(out)-1]
			last.isMap, last.value = true, scalar{}
			repeated, seenNested = isRepeated(last.fields, name, seenNested)
			last.fields = append(last.fields, entry{name: name, value: value})
		default:
			repeated, seen = isRepeated(out, name, seen)
			out = append(out, entry{name: name, value: value})
			inMap, seenNested = value.plain && value.text == "", nil
		}
		if repeated {
			return nil, false
		}
		if nested && value.plain && value.text == "" {
			return nil, false
		}
	}
	return out, true
}

// isRepeated reports whether a name is among the fields. Of many it keeps a set, which
// the caller hands back with the next name.
func isRepeated(fields []entry, name string, seen map[string]bool) (bool, map[string]bool) {
	const few = 50
	if len(fields) < few {
		return slices.ContainsFunc(fields, func(e entry) bool { return e.name == name }), nil
	}
	if seen == nil {
		seen = make(map[string]bool, 2*few)
		for i := range fields {
			seen[fields[i].name] = true
		}
	}
	if seen[name] {
		return true, seen
	}
	seen[name] = true
	return false, seen
}

// splitLine parses a line "name: value" if there is no doubt about it.
func splitLine(line string) (name string, value scalar, ok bool) {
	name, line, ok = splitName(line)
	if !ok {
		return "", scalar{}, false
	}
	if line == "" {
		return name, scalar{plain: true}, true
	}
	if line[0] != ' ' || len(line) == 1 {
		return "", scalar{}, false
	}
	line = line[1:]
	switch line[0] {
	case '\'':
		text, ok := unquote(line)
		return name, scalar{text: text}, ok
	case '"':
		text, rest, ok := undouble(line)
		return name, scalar{text: text}, ok && rest == ""
	}
	return name, scalar{line, true}, isPlain(line)
}

// splitName takes a line's name off it, and the colon.
func splitName(line string) (name, rest string, ok bool) {
	if line == "" {
		return "", "", false
	}
	switch line[0] {
	case '"':
		name, rest, ok = undouble(line)
	case '\'':
		end := 1
		for end < len(line) && (line[end] != '\'' || end+1 < len(line) && line[end+1] == '\'') {
			if line[end] == '\'' {
				end++
			}
			end++
		}
		if end >= len(line) {
			return "", "", false
		}
		name, ok = unquote(line[:end+1])
		rest = line[end+1:]
	default:
		var found bool
		if name, rest, found = strings.Cut(line, ": "); found {
			rest = ": " + rest
		} else if name, found = strings.CutSuffix(line, ":"); found {
			rest = ":"
		}
		ok = found && isPlain(name) && !looksTyped(name)
	}
	if !ok || rest == "" || rest[0] != ':' {
		return "", "", false
	}
	return name, rest[1:], true
}

// undouble reads a text in double quotes with the escapes that we write, and returns
// what comes after it.
func undouble(line string) (text, rest string, ok bool) {
	var b strings.Builder
	for at := 1; at < len(line); {
		r, size := utf8.DecodeRuneInString(line[at:])
		switch {
		case r == '"':
			return b.String(), line[at+1:], true
		case isControl(r):
			return "", "", false
		case r != '\\':
			b.WriteRune(r)
			at += size
			continue
		}
		if at++; at == len(line) {
			break
		}
		switch line[at] {
		case '"', '\\':
			b.WriteByte(line[at])
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'u':
			n, err := strconv.ParseUint(line[at+1:min(at+5, len(line))], 16, 16)
			if err != nil || at+5 > len(line) || !utf8.ValidRune(rune(n)) {
				return "", "", false
			}
			b.WriteRune(rune(n))
			at += 4
		default:
			return "", "", false
		}
		at++
	}
	return "", "", false
}

// unquote reads a text in single quotes that ends with the line.
func unquote(line string) (string, bool) {
	inner := line[1:]
	if !strings.Contains(inner[:max(len(inner)-1, 0)], "'") && strings.HasSuffix(inner, "'") {
		return inner[:len(inner)-1], !strings.ContainsFunc(inner, isControl)
	}
	if len(inner) == 0 || inner[len(inner)-1] != '\'' {
		return "", false
	}
	inner = inner[:len(inner)-1]
	if strings.Contains(strings.ReplaceAll(inner, "''", ""), "'") || strings.ContainsFunc(inner, isControl) {
		return "", false
	}
	return strings.ReplaceAll(inner, "''", "'"), true
}

// isPlain reports whether a text without quotes means itself in every dialect of YAML.
func isPlain(text string) bool {
	if text == "" {
		return false
	}
	switch c := text[0]; {
	case isLetter(c), isDigit(c), c == '/', c == '_', c == '.' && len(text) > 1 && text[1] != '.', (c == '-' || c == '+') && len(text) > 1 && isDigit(text[1]):
	default:
		return false
	}
	if last := text[len(text)-1]; last == ':' || last == ' ' {
		return false
	}
	return !strings.Contains(text, ": ") && !strings.Contains(text, " #") && !strings.ContainsFunc(text, isControl)
}

func isControl(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == utf8.RuneError
}
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
