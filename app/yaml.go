package app

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// parseYAML reads any YAML document that is one map.
func parseYAML(doc []byte) ([]entry, error) {
	if at := firstNotUTF8(doc); at >= 0 {
		return nil, errors.New("byte " + strconv.Itoa(at+1) + " is not UTF-8")
	}
	if err := boundYAML(doc); err != nil {
		return nil, err
	}
	// A carriage return ends a line, too; the library takes the square of many in a row for it.
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(bytes.TrimPrefix(doc, []byte("\ufeff"))))
	tokens := lexer.Tokenize(text)
	if err := boundTokens(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		first, _, _ := strings.Cut(plainError(err), "\n")
		return nil, fmt.Errorf("no YAML: at %.150s", strings.ToValidUTF8(strings.TrimSpace(first), ""))
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
		found := whole.other
		if found == "" {
			found = strconv.Quote(shortText(whole.value.text))
		}
		return nil, fmt.Errorf("it is %s, and not fields as in memoryMB: 64, one in each line", found)
	}
	return whole.fields, nil
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
	if r.nodes++; depth > maxDepth || r.nodes > maxNodes {
		return e, errTooDeep
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
			return e, fmt.Errorf("field %s: there is no anchor %s", shortText(name), shortText(n.Value.String()))
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
