package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseYAML parses a YAML document that is one map.
func parseYAML(doc []byte) ([]entry, error) {
	if offset := firstNotUTF8(doc); offset >= 0 {
		return nil, fmt.Errorf("byte %d is not UTF-8", offset+1)
	}
	root, err := onlyNode(doc)
	if err != nil {
		return nil, err
	}
	document, err := new(yamlReader).read("", root, 0)
	if err != nil {
		return nil, err
	}
	if document.kind != isMap {
		return nil, fmt.Errorf("it is %s, and not fields as in memoryMB: 64, one in each line", document.describe())
	}
	return document.fields, nil
}

// onlyNode returns the root of the only document in a stream. It skips empty documents.
func onlyNode(doc []byte) (*yaml.Node, error) {
	var found *yaml.Node
	for decoder := yaml.NewDecoder(bytes.NewReader(doc)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		switch {
		case errors.Is(err, io.EOF) && found == nil:
			return nil, errors.New("it is empty")
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			line, message := YAMLError(err)
			return nil, fmt.Errorf("not YAML: line %d: %s", line, message)
		}
		root := document.Content[0]
		if root.Kind == yaml.ScalarNode && root.Value == "" && root.Style == 0 {
			continue // empty document between two markers
		}
		if found != nil {
			return nil, errors.New("it holds more than one document")
		}
		found = root
	}
}

// YAMLError splits an error of the YAML library into its line and its message. The line is 1 if the error names none.
// The message omits the name of an alias, which may be a password that should have been quoted.
func YAMLError(err error) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	if _, scanErr := fmt.Sscanf(message, "line %d:", &line); scanErr == nil {
		_, message, _ = strings.Cut(message, ": ")
	}
	if strings.Contains(message, "unknown anchor") {
		message = "an alias (*) of no anchor; put texts that begin with '*' into quotes"
	}
	return max(line, 1), fmt.Sprintf("%.150s", strings.ToValidUTF8(message, ""))
}

// yamlReader converts YAML to entries. It counts the nodes that it reads, because aliases can expand a few bytes to
// many nodes, or without end.
type yamlReader struct{ nodes int }

func (r *yamlReader) read(name string, n *yaml.Node, depth int) (entry, error) {
	e := entry{name: name}
	if r.nodes++; depth > maxDepth || r.nodes > maxNodes {
		return e, errTooDeep
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.read(name, n.Alias, depth+1)
	case yaml.SequenceNode:
		e.kind, e.fields = isList, make([]entry, 0, len(n.Content))
		for _, element := range n.Content {
			inner, err := r.read("", element, depth+1)
			if err != nil {
				return e, err
			}
			e.fields = append(e.fields, inner)
		}
	case yaml.MappingNode:
		return r.readMap(e, n.Content, depth)
	default:
		// Java's class tags add nothing to the type of the field. Only !!str matters, on a text without quotes.
		quoted := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
		e.text, e.plain = n.Value, !quoted && !(n.Style&yaml.TaggedStyle != 0 && n.ShortTag() == "!!str")
	}
	return e, nil
}

// readMap reads the fields of a map, whose keys and values alternate in content.
func (r *yamlReader) readMap(e entry, content []*yaml.Node, depth int) (entry, error) {
	e.kind, e.fields = isMap, make([]entry, 0, len(content)/2)
	seen := make(map[string]bool, len(content)/2)
	for i := 0; i+1 < len(content); i += 2 {
		if content[i].ShortTag() == "!!merge" {
			return e, errMerge
		}
		key, err := r.read("", content[i], depth+1)
		if err != nil {
			return e, err
		}
		if key.kind != isScalar {
			return e, fmt.Errorf("line %d: the name of a field must be a text", content[i].Line)
		}
		name := key.text
		if seen[name] {
			return e, fmt.Errorf("line %d: field %s is given more than once", content[i].Line,
				shorten(name, shortStored))
		}
		seen[name] = true
		inner, err := r.read(name, content[i+1], depth+1)
		if err != nil {
			return e, err
		}
		e.fields = append(e.fields, inner)
	}
	return e, nil
}
