// Package described checks HTTP exchanges against an OpenAPI 3.1 description: every request that succeeds and every
// answer must be as the description says.
package described

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The address under which the description's own schemas are compiled.
const address = "https://elasticjob.test/openapi.json"

// The schema of OpenAPI 3.1 documents, from https://spec.openapis.org/oas/3.1/schema/2022-10-07 (Apache License 2.0).
//
//go:embed openapi-3.1.json
var openAPI []byte

// Description is an OpenAPI description that exchanges are checked against. Several goroutines may use it.
type Description struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	paths    map[string]map[string]*operation
	shared   map[string]response // components.responses, by name
	answered map[string]bool     // the operations that were answered without an error
}

// operation is a method of a path.
type operation struct {
	Parameters  []parameter
	RequestBody *struct {
		Required bool
		Content  map[string]media
	}
	Responses map[string]response
}

type parameter struct {
	Name, In string
	Required bool
	Schema   struct{ Type string }
}

type response struct {
	Ref     string `json:"$ref"`
	Content map[string]media
}

type media struct {
	Schema json.RawMessage
}

// New reads a description. It returns an error if the text is not a valid OpenAPI 3.1 document, or if one of its
// schemas is not a valid schema.
func New(text []byte) (*Description, error) {
	if err := valid(text); err != nil {
		return nil, err
	}
	var read struct {
		Paths      map[string]map[string]*operation
		Components struct{ Responses map[string]response }
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	closed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	closeObjects(closed)
	d := &Description{
		compiler: newCompiler(), paths: read.Paths, shared: read.Components.Responses, answered: map[string]bool{},
	}
	if err := d.compiler.AddResource(address, closed); err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	return d, d.compileAll()
}

func newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	return c
}

// valid checks a text against the schema of OpenAPI 3.1 documents.
func valid(text []byte) error {
	c := newCompiler()
	rules, err := jsonschema.UnmarshalJSON(bytes.NewReader(openAPI))
	if err != nil {
		return fmt.Errorf("read the schema of OpenAPI: %w", err)
	}
	if err := c.AddResource("openapi-3.1.json", rules); err != nil {
		return fmt.Errorf("read the schema of OpenAPI: %w", err)
	}
	schema, err := c.Compile("openapi-3.1.json")
	if err != nil {
		return fmt.Errorf("read the schema of OpenAPI: %w", err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("read the description: %w", err)
	}
	if err := schema.Validate(document); err != nil {
		return fmt.Errorf("the description is not an OpenAPI 3.1 document: %w", err)
	}
	return nil
}

// closeObjects forbids fields that a schema does not name, so that a field that is answered and not described is
// found.
func closeObjects(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			closeObjects(one)
		}
	case map[string]any:
		if _, ok := v["properties"].(map[string]any); ok && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for name, one := range v {
			if name != "example" {
				closeObjects(one)
			}
		}
	}
}

// compileAll compiles every schema that an exchange can be checked against, so that a wrong one is found before an
// exchange needs it.
func (d *Description) compileAll() error {
	for path, methods := range d.paths {
		for method, o := range methods {
			at := pointer("paths", path, method)
			for i := range o.Parameters {
				if _, err := d.schema(at + pointer("parameters", fmt.Sprint(i), "schema")); err != nil {
					return err
				}
			}
			for kind := range o.body() {
				if _, err := d.schema(at + pointer("requestBody", "content", kind, "schema")); err != nil {
					return err
				}
			}
			for status := range o.Responses {
				answer, at, err := d.response(at, o, status)
				if err != nil {
					return err
				}
				for kind, m := range answer.Content {
					if m.Schema == nil {
						continue
					}
					if _, err := d.schema(at + pointer("content", kind, "schema")); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// body is what a request may hold, by its content type; nil if it holds nothing.
func (o *operation) body() map[string]media {
	if o.RequestBody == nil {
		return nil
	}
	return o.RequestBody.Content
}

// response returns the response that an operation, described at a JSON pointer, has for a status, and the pointer
// to it.
func (d *Description) response(at string, o *operation, status string) (response, string, error) {
	answer, ok := o.Responses[status]
	if !ok {
		return response{}, "", fmt.Errorf("the status %s is not described", status)
	}
	if answer.Ref == "" {
		return answer, at + pointer("responses", status), nil
	}
	name, _ := strings.CutPrefix(answer.Ref, "#/components/responses/")
	answer, ok = d.shared[name]
	if !ok {
		return response{}, "", fmt.Errorf("%s is not described", name)
	}
	return answer, pointer("components", "responses", name), nil
}

// schema returns the compiled schema at a JSON pointer into the description.
func (d *Description) schema(at string) (*jsonschema.Schema, error) {
	s, err := d.compiler.Compile(address + "#" + at)
	if err != nil {
		return nil, fmt.Errorf("compile the schema %s: %w", at, err)
	}
	return s, nil
}

// pointer is a JSON pointer (RFC 6901) as a part of a URL.
func pointer(names ...string) string {
	var all strings.Builder
	escape := strings.NewReplacer("~", "~0", "/", "~1", "%", "%25", " ", "%20", "{", "%7B", "}", "%7D")
	for _, name := range names {
		all.WriteString("/" + escape.Replace(name))
	}
	return all.String()
}

// Operations lists all operations that are described, as "GET /path", in alphabetical order.
func (d *Description) Operations() []string {
	var all []string
	for path, methods := range d.paths {
		for method := range methods {
			all = append(all, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(all)
	return all
}

// Unanswered lists the operations that were not yet answered without an error.
func (d *Description) Unanswered() (list []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range d.Operations() {
		if !d.answered[name] {
			list = append(list, name)
		}
	}
	return list
}

// find returns the path that describes a request, which is the one with the fewest variables; empty if none does.
func (d *Description) find(r *http.Request) string {
	best, fewest := "", 1<<30
	for _, path := range slices.Sorted(maps.Keys(d.paths)) {
		n, ok := fits(path, r.URL.EscapedPath())
		if ok && n < fewest && d.paths[path][strings.ToLower(r.Method)] != nil {
			best, fewest = path, n
		}
	}
	return best
}

// fits reports whether a path is one of a template such as /api/job/{jobName}, and how many variables the template
// has.
func fits(template, path string) (variables int, ok bool) {
	wanted, given := strings.Split(template, "/"), strings.Split(strings.TrimSuffix(path, "/"), "/")
	if template == "/" {
		return 0, path == "/"
	}
	if len(wanted) != len(given) {
		return 0, false
	}
	for i, w := range wanted {
		if strings.HasPrefix(w, "{") && given[i] != "" {
			variables++
		} else if w != given[i] {
			return 0, false
		}
	}
	return variables, true
}
