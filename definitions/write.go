package definitions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Encode writes definitions as the YAML that Read reads, with marks between them. Fields that have their defaults are
// left out, and entries of env and props are sorted by name, so that equal definitions are equal texts.
func Encode(all []*Definition) ([]byte, error) {
	var out bytes.Buffer
	for i, d := range all {
		if i > 0 {
			out.WriteString("---\n")
		}
		if err := d.encode(&out); err != nil {
			return nil, fmt.Errorf("write %s: %w", d, err)
		}
	}
	return out.Bytes(), nil
}

func (d *Definition) encode(out *bytes.Buffer) error {
	whole := &yaml.Node{Kind: yaml.MappingNode}
	add := func(key string, value *yaml.Node) {
		whole.Content = append(whole.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
	}
	add("kind", &yaml.Node{Kind: yaml.ScalarNode, Value: string(d.Kind)})
	mine, defaults := d.values(), d.Kind.defaults()
	for _, field := range d.Kind.fields() {
		if value := mine[field]; value != nil && !bytes.Equal(value, defaults[field]) {
			node, err := nodeOf(value)
			if err != nil {
				return err
			}
			add(field, node)
		}
	}
	if d.Disabled != nil && *d.Disabled {
		add("disabled", &yaml.Node{Kind: yaml.ScalarNode, Value: "true"})
	}
	encoder := yaml.NewEncoder(out)
	encoder.SetIndent(2)
	if err := encoder.Encode(whole); err != nil {
		return err
	}
	return encoder.Close()
}

// nodeOf is a JSON value as YAML: the same, in block style.
func nodeOf(value []byte) (*yaml.Node, error) {
	var decoded any
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	if err := decoder.Decode(&decoded); err != nil {
		return nil, err
	}
	return node(decoded), nil
}

func node(value any) *yaml.Node {
	switch v := value.(type) {
	case string:
		return textNode(v)
	case map[string]any:
		whole := &yaml.Node{Kind: yaml.MappingNode}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			whole.Content = append(whole.Content, textNode(name), node(v[name]))
		}
		return whole
	case []any:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, one := range v {
			list.Content = append(list.Content, node(one))
		}
		return list
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(v)}
	}
}

// textNode is a text without quotes where it can be, and as lines where it has some.
func textNode(value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	switch lines := strings.TrimLeft(value, "\n ") == value && strings.Contains(value, "\n"); {
	case strings.ContainsFunc(value, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }):
		n.Style = yaml.DoubleQuotedStyle // it has escapes for them
	case lines:
		n.Style = yaml.LiteralStyle
	case value == "<<":
		n.Style = yaml.SingleQuotedStyle // else it merges maps
	}
	return n
}
