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

// Limits of one definition with its aliases expanded. A pod template has eleven levels, and no document has this many
// values.
const (
	maxDepth  = 16
	maxValues = 1 << 17
)

// translator converts a YAML map to JSON for the strict decoder of documents, and records the line of each field by
// its path.
type translator struct {
	out    bytes.Buffer
	lines  map[string]int
	values int
}

var errTooLarge = errors.New("it is nested too deep, or too large with its aliases written out")

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
		for i, one := range n.Content {
			if i > 0 {
				t.out.WriteByte(',')
			}
			at := fmt.Sprintf("%s[%d]", path, i)
			t.lines[at] = one.Line
			if err := t.write(at, one, depth+1); err != nil {
				return err
			}
		}
		t.out.WriteByte(']')
		return nil
	}
	t.out.Write(scalar(n))
	return nil
}

// writeMap keeps duplicate keys, which the decoder of documents reports.
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
		at := key.Value
		if path != "" {
			at = path + "." + at
		}
		t.lines[at] = key.Line
		t.out.Write(text(key.Value))
		t.out.WriteByte(':')
		if err := t.write(at, content[i+1], depth+1); err != nil {
			return err
		}
	}
	t.out.WriteByte('}')
	return nil
}

// scalar returns the JSON of a scalar. Values that JSON has no type for, such as dates, become texts as written.
func scalar(n *yaml.Node) []byte {
	switch n.ShortTag() {
	case "!!null":
		return []byte("null")
	case "!!bool":
		var is bool
		if n.Decode(&is) == nil {
			return strconv.AppendBool(nil, is)
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
	return text(n.Value)
}

func text(value string) []byte {
	text, _ := document.EncodeJSON(value) // a text can always be encoded
	return text
}
