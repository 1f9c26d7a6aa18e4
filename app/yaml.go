package app

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// parseLines reads the YAML that the original and we write nearly always: one field in a
// line, plain or in single quotes, maps by two spaces. It is some thirty times faster
// than parseYAML, and gives up on whatever could mean something else.
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
		if nested {
			line = line[2:]
		}
		name, value, ok := splitLine(line)
		if !ok || nested && !inMap {
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

// splitLine takes a line "name: value" apart if there is no doubt about it.
func splitLine(line string) (name string, value scalar, ok bool) {
	n := 0
	for n < len(line) && (isLetter(line[n]) || n > 0 && (isDigit(line[n]) || line[n] == '.' || line[n] == '_' || line[n] == '-')) {
		n++
	}
	if n == 0 || n == len(line) || line[n] != ':' {
		return "", scalar{}, false
	}
	name, line = line[:n], line[n+1:]
	switch strings.ToLower(name) { // in YAML 1.1 these names are no strings
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null":
		return "", scalar{}, false
	}
	if line == "" {
		return name, scalar{plain: true}, true
	}
	if line[0] != ' ' || len(line) == 1 {
		return "", scalar{}, false
	}
	line = line[1:]
	if line[0] == '\'' {
		text, ok := unquote(line)
		return name, scalar{text: text}, ok
	}
	return name, scalar{line, true}, isPlain(line)
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

// appendText writes a text so that YAML 1.1 and 1.2 read it as just that text.
func appendText(b []byte, text string) []byte {
	switch {
	case text != "" && isPlain(text) && !looksTyped(text):
		return append(b, text...)
	case strings.ContainsFunc(text, isControl):
		return appendDoubleQuoted(b, text)
	}
	b = append(b, '\'')
	b = append(b, strings.ReplaceAll(text, "'", "''")...)
	return append(b, '\'')
}

// appendDoubleQuoted writes all that is not printable as YAML's escapes, which are not Go's.
func appendDoubleQuoted(b []byte, text string) []byte {
	b = append(b, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\t':
			b = append(b, '\\', 't')
		case r == '\r':
			b = append(b, '\\', 'r')
		case isControl(r):
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// looksTyped reports whether a plain text may be read as something else than a
// string: a number, date or time, or a word such as no.
func looksTyped(text string) bool {
	if _, isBool := yamlBool(text); isBool || (scalar{text, true}).isNull() {
		return true
	}
	switch text {
	case "y", "Y", "n", "N", "=":
		return true
	}
	return !isLetter(text[0]) && text[0] != '/' && strings.Trim(text, "0123456789abcdefABCDEFxXoO+-._:TtZz ") == "" ||
		strings.HasPrefix(strings.ToLower(text), ".inf") || strings.HasPrefix(strings.ToLower(text), ".nan")
}

// parseYAML reads any YAML document that is one map.
func parseYAML(doc []byte) ([]entry, error) {
	if at := firstNotUTF8(doc); at >= 0 {
		return nil, errors.New("byte " + strconv.Itoa(at+1) + " is not UTF-8")
	}
	if len(doc) > maxYAMLBytes {
		return nil, fmt.Errorf("it has %d bytes, at most %d are read", len(doc), maxYAMLBytes)
	}
	tokens := lexer.Tokenize(string(bytes.TrimPrefix(doc, []byte("\ufeff"))))
	if isIntricate(tokens) {
		return nil, errIntricate
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		first, _, _ := strings.Cut(plainError(err), "\n")
		return nil, fmt.Errorf("no YAML: at %s", strings.TrimSpace(first))
	}
	var found ast.Node
	for _, d := range file.Docs {
		switch d.Body.(type) {
		case nil, *ast.DirectiveNode, *ast.CommentGroupNode:
			continue
		}
		if found != nil {
			return nil, errors.New("it holds more than one document")
		}
		found = d.Body
	}
	if found == nil {
		return nil, errors.New("it is empty")
	}
	r := yamlReader{anchors: map[string]ast.Node{}}
	whole, err := r.read("", found, 0)
	if err != nil {
		return nil, err
	}
	if !whole.isMap {
		return nil, errors.New("no YAML map of fields")
	}
	return whole.fields, nil
}

// Documents are bounded where they are made (jobs.MaxDocumentBytes); what somebody else
// stores may be no larger than a node of ZooKeeper.
const (
	maxYAMLBytes = 1 << 20
	maxYAMLDepth = 16
	// maxYAMLMarks bounds what nests: one that can be used has a few.
	maxYAMLMarks  = 500
	maxYAMLFields = 10_000
)

var errIntricate = errors.New("it is nested too deep, or too large")

// isIntricate finds documents that the library would take more time or memory for
// than there is: both grow with the square of what is nested, and of the fields. What
// somebody leaves in a registry must end no leader.
func isIntricate(tokens token.Tokens) bool {
	marks, fields := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.MappingValueType:
			fields++
		case token.MappingStartType, token.SequenceStartType, token.SequenceEntryType, token.MappingKeyType, token.MergeKeyType,
			token.AnchorType, token.AliasType, token.TagType, token.DirectiveType, token.DocumentHeaderType:
			marks++
		}
	}
	return marks > maxYAMLMarks || fields > maxYAMLFields
}

// plainError is the library's error without the source around its place, for which it takes
// the square of a line's length.
func plainError(err error) string {
	var e interface {
		FormatError(colored, withSource bool) string
	}
	if errors.As(err, &e) {
		return e.FormatError(false, false)
	}
	return err.Error()
}

type yamlReader struct {
	anchors map[string]ast.Node
	nodes   int
}

func (r *yamlReader) read(name string, n ast.Node, depth int) (entry, error) {
	e := entry{name: name}
	if r.nodes++; depth > maxYAMLDepth || r.nodes > 100_000 {
		return e, errIntricate
	}
	switch n := n.(type) {
	case *ast.TagNode: // Java's class tags say nothing that the field does not say
		inner, err := r.read(name, n.Value, depth+1)
		if n.Start.Value == "!!str" && !inner.isMap {
			inner.value.plain = false
			if null, ok := n.Value.(*ast.NullNode); ok {
				inner.value.text = null.GetToken().Value
			}
		}
		return inner, err
	case *ast.AnchorNode:
		r.anchors[n.Name.String()] = n.Value
		return r.read(name, n.Value, depth+1)
	case *ast.AliasNode:
		target := r.anchors[n.Value.String()]
		if target == nil {
			return e, fmt.Errorf("field %s: there is no anchor %s", name, n.Value)
		}
		return r.read(name, target, depth+1)
	case *ast.MappingNode:
		return r.readMap(e, n.Values, depth)
	case *ast.MappingValueNode:
		return r.readMap(e, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		e.other = "a list"
	case *ast.NullNode, nil:
		e.value.plain = true
	case *ast.LiteralNode:
		e.value.text = n.Value.Value
	case *ast.StringNode:
		quoted := n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType
		e.value = scalar{n.Value, !quoted}
	default:
		e.value = scalar{n.GetToken().Value, true}
	}
	return e, nil
}

func (r *yamlReader) readMap(e entry, values []*ast.MappingValueNode, depth int) (entry, error) {
	e.isMap = true
	for _, v := range values {
		var key ast.Node = v.Key
		if k, ok := key.(*ast.MappingKeyNode); ok {
			key = k.Value
		}
		name, err := r.read("", key, depth+1)
		if err != nil {
			return e, err
		}
		if name.isMap || name.other != "" {
			return e, errors.New("a field's name is no text")
		}
		inner, err := r.read(name.value.text, v.Value, depth+1)
		if err != nil {
			return e, err
		}
		e.fields = append(e.fields, inner)
	}
	return e, nil
}
