// Package properties reads the format of java.util.Properties.
package properties

import (
	"fmt"
	"strconv"
	"strings"
)

// Property is a key and its value.
type Property struct {
	Key, Value string
	Line       int // the number of its first line, from 1
}

// Parse reads a text. The text may have comments after # or !, keys that end at =, : or a space, escapes, and lines
// that a backslash continues. If a key occurs several times, Parse returns all properties; in Java the last one counts.
func Parse(text string) ([]Property, error) {
	var all []Property
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	for i := 0; i < len(lines); i++ {
		number := i + 1
		line := trimLeft(lines[i])
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continues(line) {
			line = line[:len(line)-1]
			if i++; i == len(lines) {
				break
			}
			line += trimLeft(lines[i])
		}
		p, err := parseProperty(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		p.Line = number
		all = append(all, p)
	}
	return all, nil
}

// Latin1 decodes a file as Java does: each byte is a character.
func Latin1(text []byte) string {
	var out strings.Builder
	for _, b := range text {
		out.WriteRune(rune(b))
	}
	return out.String()
}

const propertySpace = " \t\f"

func trimLeft(line string) string { return strings.TrimLeft(line, propertySpace) }

// continues reports whether the next line continues the line, because the line ends in a backslash that is not escaped.
func continues(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

func parseProperty(line string) (Property, error) {
	end := 0
	for end < len(line) && !strings.ContainsRune("=:"+propertySpace, rune(line[end])) {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(line))
	rest := trimLeft(line[end:])
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = trimLeft(rest[1:])
	}
	key, err := unescape(line[:end])
	if err != nil {
		return Property{}, err
	}
	value, err := unescape(rest)
	return Property{Key: key, Value: value}, err
}

func unescape(text string) (string, error) {
	if !strings.Contains(text, `\`) {
		return text, nil
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			out.WriteByte(text[i])
			continue
		}
		if i++; i == len(text) {
			break
		}
		switch text[i] {
		case 't', 'n', 'r', 'f':
			out.WriteByte("\t\n\r\f"[strings.IndexByte("tnrf", text[i])])
		case 'u':
			digits := text[i+1 : min(i+5, len(text))]
			code, err := strconv.ParseUint(digits, 16, 16)
			if err != nil || len(digits) != 4 {
				return "", fmt.Errorf(`\u%s is not a character: must be \u and four hexadecimal digits`, digits)
			}
			out.WriteRune(rune(code))
			i += 4
		default:
			out.WriteByte(text[i]) // the backslash is dropped; the bytes of a character stay together
		}
	}
	return out.String(), nil
}
