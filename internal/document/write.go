package document

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// EncodeYAML writes a document as the original does: block style, sorted by name, without null values. The original
// refuses documents with unknown fields, so fields that it does not know are left out if they are empty.
func (s *Schema[C]) EncodeYAML(c C) []byte {
	root := &yaml.Node{Kind: yaml.MappingNode}
	values := reflect.ValueOf(c)
	for _, f := range s.sorted {
		v := values.Field(f.index)
		if f.omitEmpty && (v.IsZero() || v.Kind() == reflect.Map && v.Len() == 0) {
			continue
		}
		root.Content = append(root.Content, textNode(f.name), valueNode(v.Interface()))
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	_ = encoder.Encode(root) // fails only for invalid UTF-8, which was replaced
	_ = encoder.Close()
	return out.Bytes()
}

// valueNode returns the value of a field, which has one of the types of a Schema.
func valueNode(value any) *yaml.Node {
	switch x := value.(type) {
	case bool, int:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(x)}
	case float64:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: javaDouble(x)}
	case Texts:
		entries := &yaml.Node{Kind: yaml.MappingNode}
		for _, name := range slices.Sorted(maps.Keys(x)) {
			entries.Content = append(entries.Content, textNode(name), x[name].node())
		}
		return entries
	case Object:
		return nodeOfJSON(string(x))
	case List:
		return nodeOfJSON(string(x))
	default:
		return textNode(value.(string))
	}
}

// textNode returns a text in a style that both YAML 1.1, which the original uses, and 1.2 read as the same text.
func textNode(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.ToValidUTF8(text, "\uFFFD")}
	switch {
	case strings.ContainsAny(text, "\n\r\u0085\u2028\u2029"):
		n.Style = yaml.DoubleQuotedStyle // other styles would break the line
	case looksTyped(text):
		n.Style = yaml.SingleQuotedStyle
	}
	return n
}

// looksTyped reports whether a YAML reader may take an unquoted text for another type than a string: a number, a date
// or time, or a word such as no.
func looksTyped(text string) bool {
	if _, isBool := yamlBool(text); isBool || isNullWord(text) {
		return true
	}
	switch text {
	case "y", "Y", "n", "N", "=", "<<":
		return true
	}
	lower := strings.ToLower(text)
	return strings.HasPrefix(lower, ".inf") || strings.HasPrefix(lower, ".nan") ||
		strings.ContainsAny(text[:1], "0123456789.+-") && strings.Trim(lower, "0123456789abcdefxo+-._:tz ") == ""
}

// javaDouble formats a number with a fraction, as Java does.
func javaDouble(x float64) string {
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
