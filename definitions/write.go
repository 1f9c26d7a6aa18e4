package definitions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// Encode returns definitions as YAML for Read, separated by "---". It omits fields with default values, and sorts the
// entries of env and props by name, so that equal definitions result in equal texts.
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

// encode writes the definition as a YAML document.
func (d *Definition) encode(out *bytes.Buffer) error {
	root := &yaml.Node{Kind: yaml.MappingNode}
	add := func(key string, value *yaml.Node) {
		root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
	}
	add("kind", &yaml.Node{Kind: yaml.ScalarNode, Value: string(d.Kind)})
	given, defaults := d.values(), d.Kind.defaults()
	for _, field := range d.Kind.fields() {
		if value := given[field]; value != nil && !bytes.Equal(value, defaults[field]) {
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
	if err := encoder.Encode(root); err != nil {
		return err
	}
	return encoder.Close()
}

// nodeOf converts a JSON value to YAML in block style.
func nodeOf(value []byte) (*yaml.Node, error) {
	var decoded any
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	if err := decoder.Decode(&decoded); err != nil {
		return nil, err
	}
	return document.Node(decoded, textNode), nil
}

// textNode returns the node of a text: without quotes if possible, and in literal style if the text has several lines.
func textNode(value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	switch fitsLiteral := strings.TrimLeft(value, "\n ") == value && strings.Contains(value, "\n"); {
	case strings.ContainsFunc(value, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }):
		n.Style = yaml.DoubleQuotedStyle // only this style can escape these characters
	case fitsLiteral:
		n.Style = yaml.LiteralStyle
	case value == "<<":
		n.Style = yaml.SingleQuotedStyle // unquoted, it would merge maps
	}
	return n
}
