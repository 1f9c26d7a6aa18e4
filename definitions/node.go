package definitions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// Limits of one definition with its aliases expanded. A pod template has eleven levels, and no valid definition has so
// many values.
const (
	maxDepth  = 16
	maxValues = 1 << 17
)

// translator converts a YAML map to JSON for the strict decoder of documents. It records the line of each field by the
// field's path.
type translator struct {
	out    bytes.Buffer
	lines  map[string]int
	values int
}

var errTooLarge = errors.New("it is nested too deep, or too large with its aliases written out")

// write writes a value at a path.
func (t *translator) write(path string, n *yaml.Node, depth int) error {
	if t.values++; depth > maxDepth || t.values > maxValues {
		return errTooLarge
	}
	switch n.Kind {
	case yaml.AliasNode:
		return t.write(path, n.Alias, depth+1)
	case yaml.MappingNode:
		return t.writeMap(path, n.Content, depth)
	case yaml.SequenceNode:
		t.out.WriteByte('[')
		for i, element := range n.Content {
			if i > 0 {
				t.out.WriteByte(',')
			}
			elementPath := fmt.Sprintf("%s[%d]", path, i)
			t.lines[elementPath] = element.Line
			if err := t.write(elementPath, element, depth+1); err != nil {
				return err
			}
		}
		t.out.WriteByte(']')
		return nil
	}
	t.out.Write(scalar(n))
	return nil
}

// writeMap writes a map at a path. It also writes duplicate keys, because the decoder of documents reports them.
func (t *translator) writeMap(path string, content []*yaml.Node, depth int) error {
	t.out.WriteByte('{')
	for i := 0; i+1 < len(content); i += 2 {
		key := content[i]
		if key.ShortTag() == "!!merge" {
			return fmt.Errorf("line %d: merge keys (<<) are not supported: write the fields out", key.Line)
		}
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: the name of a field must be a text", key.Line)
		}
		if i > 0 {
			t.out.WriteByte(',')
		}
		fieldPath := key.Value
		if path != "" {
			fieldPath = path + "." + key.Value
		}
		t.lines[fieldPath] = key.Line
		t.out.Write(encodeText(key.Value))
		t.out.WriteByte(':')
		if err := t.write(fieldPath, content[i+1], depth+1); err != nil {
			return err
		}
	}
	t.out.WriteByte('}')
	return nil
}

// scalar returns a scalar as JSON. A value for which JSON has no type, such as a date, becomes a text as it is
// written.
func scalar(n *yaml.Node) []byte {
	switch n.ShortTag() {
	case "!!null":
		return []byte("null")
	case "!!bool":
		var value bool
		if n.Decode(&value) == nil {
			return strconv.AppendBool(nil, value)
		}
	case "!!int", "!!float":
		var number float64
		if json.Valid([]byte(n.Value)) {
			return []byte(n.Value)
		}
		if n.Decode(&number) == nil && !math.IsInf(number, 0) && !math.IsNaN(number) {
			return strconv.AppendFloat(nil, number, 'g', -1, 64)
		}
	}
	return encodeText(n.Value)
}

// encodeText returns a text as JSON.
func encodeText(value string) []byte {
	text, _ := document.EncodeJSON(value) // a text can always be encoded
	return text
}
