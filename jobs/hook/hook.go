// Package hook creates the body of a webhook's request from a job's template, in the language of Go's text/template.
// It is pure. A template may use only the fields of a message, a few functions, and loops over lists of a message, so
// that it ends soon and gives JSON for every message. Check refuses all other templates.
package hook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"time"
)

const (
	// MaxTemplate is the maximum size of a template in bytes.
	MaxTemplate = 16 << 10
	// maxBody is the maximum size of a body in bytes.
	maxBody = 512 << 10
	// maxDepth is how deeply loops may be nested: over the other jobs, and over the shards of each.
	maxDepth = 2
)

// Example is an example, with all fields, of the body that is sent without a template. Check renders it.
const Example = `{"timestamp":1777636803000,"jobName":"my_job","executionId":"my_job@20260501T120000Z",` +
	`"fireTime":"2026-05-01T12:00:00Z","shards":[{"item":2,"state":"FAILED","taskId":"task","agent":"agent",` +
	`"failureCause":"exit status 1; end of stderr:\n\"C:\\dir\" is \u003cdown\u003e","failureCode":"text",` +
	`"failureArgs":{"text":"x"}},{"item":3,"state":"LOST","taskId":"task","agent":"agent","failureCause":"lost",` +
	`"failureCode":"text","failureArgs":{"text":"x"}}],"failedShards":7,"furtherFailures":3,` +
	`"firstFailure":"2026-05-01T11:59:03Z","lastFailure":"2026-05-01T12:00:02Z",` +
	`"text":"Job 'my_job' exception occur\n\"C:\\dir\" is \u003cdown\u003e","otherJobs":[` + exampleOther + `,` +
	exampleOther + `],"otherJobCount":2}`

// exampleOther is an element of otherJobs in Example.
const exampleOther = `{"jobName":"other_job","executionId":"other_job@20260501T120000Z",` +
	`"fireTime":"2026-05-01T12:00:00Z","shards":[{"item":0,"state":"FAILED","taskId":"task","agent":"agent",` +
	`"failureCause":"a \"b\"\n","failureCode":"text","failureArgs":{"text":"x"}}],"failedShards":1,` +
	`"furtherFailures":0,"firstFailure":"2026-05-01T11:59:03Z","lastFailure":"2026-05-01T12:00:02Z"}`

// shortExample is a message without lists.
const shortExample = `{"timestamp":1777636803000,"jobName":"my_job","executionId":"my_job@20260501T120000Z",` +
	`"fireTime":"2026-05-01T12:00:00Z","text":"\"\\\n"}`

// functions are the functions that templates may use. Those with a nil value are functions of text/template.
var functions = template.FuncMap{"json": toJSON, "print": join, "short": short, "eq": nil, "ne": nil, "lt": nil,
	"le": nil, "gt": nil, "ge": nil, "and": nil, "or": nil, "not": nil, "len": nil, "index": nil}

// toJSON returns a value as JSON; a text keeps its quotes.
func toJSON(value any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// join joins values to a text. It limits the length, so that a template can't double a text endlessly.
func join(values ...any) (string, error) {
	var b strings.Builder
	for _, v := range values {
		if fmt.Fprint(&b, v); b.Len() > maxBody {
			return "", errTooLong
		}
	}
	return b.String(), nil
}

// short returns at most the first n characters of a text.
func short(n int, text string) string {
	if runes := []rune(text); n >= 0 && len(runes) > n {
		return string(runes[:n])
	}
	return text
}

var errTooLong = fmt.Errorf("the body has more than %d KiB", maxBody>>10)

// Render returns the body for a message. message is the body that is sent without a template. The template may also
// use the fields secret, seconds (now, as Feishu signs it), and feishuSign. Render returns an error if the result is
// not JSON.
func Render(text string, message []byte, secret string, now time.Time) ([]byte, error) {
	t, err := parseTemplate(text)
	if err != nil {
		return nil, err
	}
	fields, err := decode(message)
	if err != nil {
		return nil, err
	}
	example, err := decode([]byte(Example))
	if err != nil {
		return nil, err
	}
	complete(fields, example)
	seconds := strconv.FormatInt(now.Unix(), 10)
	sum := hmac.New(sha256.New, []byte(seconds+"\n"+secret))
	fields["secret"], fields["seconds"], fields["feishuSign"] = secret, seconds,
		base64.StdEncoding.EncodeToString(sum.Sum(nil))
	out := &limitedBuffer{}
	if err := t.Execute(out, fields); err != nil {
		return nil, withoutPrefix(err)
	}
	var value any
	if err := json.Unmarshal(out.Bytes(), &value); err != nil {
		return nil, fmt.Errorf("it gives no JSON: %w; write values as {{json .text}}, without quotes around them", err)
	}
	return out.Bytes(), nil
}

// Check returns what is wrong with a template; "" if the template is valid. It renders one message with lists and one
// without, whose texts contain quotes and line breaks.
func Check(text string) string {
	if len(text) > MaxTemplate {
		return fmt.Sprintf("is longer than %d KiB", MaxTemplate>>10)
	}
	for _, message := range []string{Example, shortExample} {
		if _, err := Render(text, []byte(message), "secret", time.Unix(1777636803, 0)); err != nil {
			return "must be a template that gives JSON: " + err.Error()
		}
	}
	return ""
}

// limitedBuffer is a buffer that accepts at most maxBody bytes.
type limitedBuffer struct{ bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxBody {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}

// withoutPrefix returns an error of text/template without the prefix "template: ". Because templates have the name
// "line", the text then begins with the line, as in "line:1: …".
func withoutPrefix(err error) error {
	return errors.New(strings.TrimPrefix(err.Error(), "template: "))
}

// parseTemplate parses a template, and returns an error if it is not a single one that check accepts.
func parseTemplate(text string) (*template.Template, error) {
	added := maps.Clone(functions)
	maps.DeleteFunc(added, func(_ string, f any) bool { return f == nil })
	t, err := template.New("line").Option("missingkey=error").Funcs(added).Parse(text)
	if err != nil {
		return nil, withoutPrefix(err)
	}
	if len(t.Templates()) > 1 || t.Tree == nil {
		return nil, errors.New("it is empty, or defines other templates, which is not allowed")
	}
	return t, check(t.Root, 0)
}

// fieldNames are the names of all fields that a template may use: those of a message, of its shards and other jobs,
// and the additional ones of Render.
var fieldNames = func() []string {
	names := map[string]bool{"secret": true, "seconds": true, "feishuSign": true}
	var add func(any)
	add = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			for name, element := range v {
				if names[name] = true; name != "failureArgs" {
					add(element)
				}
			}
		case []any:
			add(v[0])
		}
	}
	example, _ := decode([]byte(Example))
	add(example)
	return slices.Sorted(maps.Keys(names))
}()

// check returns an error if a node of a template, or a node within it, is not known to be harmless. depth is the
// number of loops around the node.
func check(node parse.Node, depth int) error {
	checkAll := func(depth int, nodes ...parse.Node) error {
		for _, n := range nodes {
			if err := check(n, depth); err != nil {
				return err
			}
		}
		return nil
	}
	branch := func(b *parse.BranchNode, depth int) error {
		if err := checkAll(depth, b.Pipe, b.List); err != nil || b.ElseList == nil {
			return err
		}
		return check(b.ElseList, depth)
	}
	switch n := node.(type) {
	case *parse.ListNode:
		return checkAll(depth, n.Nodes...)
	case *parse.ActionNode:
		return check(n.Pipe, depth)
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			if err := checkAll(depth, c.Args...); err != nil {
				return err
			}
		}
		return nil
	case *parse.FieldNode:
		return checkFields(n.Ident)
	case *parse.VariableNode:
		return checkFields(n.Ident[1:])
	case *parse.ChainNode:
		if err := checkFields(n.Field); err != nil {
			return err
		}
		return check(n.Node, depth)
	case *parse.IdentifierNode:
		if _, ok := functions[n.Ident]; !ok {
			return fmt.Errorf("the function %s is not allowed; allowed are %s", n.Ident,
				strings.Join(slices.Sorted(maps.Keys(functions)), ", "))
		}
		return nil
	case *parse.IfNode:
		return branch(&n.BranchNode, depth)
	case *parse.WithNode:
		return branch(&n.BranchNode, depth)
	case *parse.RangeNode:
		list := n.Pipe.String()
		isList := strings.HasSuffix(list, ".shards") || strings.HasSuffix(list, ".otherJobs")
		isSingle := len(n.Pipe.Cmds) == 1 && len(n.Pipe.Cmds[0].Args) == 1 // a field, not an expression
		if depth == maxDepth || !isList || !isSingle {
			return fmt.Errorf("range %s is not allowed: a loop is over .shards or .otherJobs, and at most %d are nested",
				list, maxDepth)
		}
		return branch(&n.BranchNode, depth+1)
	case *parse.TextNode, *parse.CommentNode, *parse.DotNode, *parse.NilNode, *parse.BoolNode, *parse.NumberNode,
		*parse.StringNode, *parse.BreakNode, *parse.ContinueNode:
		return nil
	}
	return fmt.Errorf("%s is not allowed", node)
}

// checkFields returns an error if one of the names is not that of a field.
func checkFields(names []string) error {
	for _, name := range names {
		if !slices.Contains(fieldNames, name) {
			return fmt.Errorf("there is no field %s; the fields are %s", name, strings.Join(fieldNames, ", "))
		}
	}
	return nil
}

// decode parses a message, with whole numbers as int64.
func decode(message []byte) (map[string]any, error) {
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(message))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		return nil, fmt.Errorf("read the message: %w", err)
	}
	var convert func(any) any
	convert = func(value any) any {
		switch v := value.(type) {
		case json.Number:
			if n, err := v.Int64(); err == nil {
				return n
			}
		case map[string]any:
			for name, element := range v {
				v[name] = convert(element)
			}
		case []any:
			for i, element := range v {
				v[i] = convert(element)
			}
		}
		return value
	}
	convert(fields)
	return fields, nil
}

// complete adds the fields of the example that a message leaves out, with zero values of the same types. It does the
// same for the elements of lists.
func complete(fields, example map[string]any) {
	for name, zero := range example {
		value, exists := fields[name]
		switch v := zero.(type) {
		case string:
			zero = ""
		case int64:
			zero = int64(0)
		case map[string]any:
			zero = map[string]any{}
		case []any:
			list, _ := value.([]any)
			for _, element := range list {
				complete(element.(map[string]any), v[0].(map[string]any))
			}
			zero = []any{}
		}
		if !exists {
			fields[name] = zero
		}
	}
}
