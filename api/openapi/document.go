package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Info describes the API as a whole.
type Info struct {
	Title, Version, Description string
	// Error is a value of the Go type of all errors' bodies. Errors are the descriptions of the errors, by status.
	Error  any
	Errors map[int]string
	// Tags are the groups of operations in the order of display.
	Tags []Tag
	// Security are the security schemes in OpenAPI's form, by name. An operation that is not open accepts any of them.
	Security map[string]map[string]any
}

// Tag is a group of operations.
type Tag struct {
	Name  string `json:"name"`
	About string `json:"description"`
}

// Ref returns a schema that refers to a named schema.
func Ref(name string) Schema { return Schema{"$ref": schemaPrefix + name} }

// New returns the document of the operations as JSON. named are further schemas by name, to which Ref refers.
func New(info Info, types Types, named map[string]Schema, operations []Operation) ([]byte, error) {
	d := &document{types: &schemas{types: types, named: map[string]Schema{}},
		security: slices.Sorted(maps.Keys(info.Security))}
	paths := map[string]map[string]operation{}
	for _, o := range operations {
		if paths[o.Path] == nil {
			paths[o.Path] = map[string]operation{}
		}
		paths[o.Path][strings.ToLower(o.Method)] = d.operation(o)
	}
	failures := map[string]response{}
	for status, about := range info.Errors {
		failures[errorName(status)] = d.failure(status, about, info.Error)
	}
	maps.Copy(d.types.named, named)
	text, err := json.Marshal(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{"title": info.Title, "version": cmp.Or(info.Version, "unknown"),
			"description": info.Description},
		"servers": []any{map[string]any{"url": "/"}},
		"tags":    info.Tags,
		"paths":   paths,
		"components": map[string]any{
			"schemas": d.types.named, "responses": failures, "securitySchemes": info.Security,
		},
	})
	if err = cmp.Or(d.types.err, err); err != nil {
		return nil, fmt.Errorf("describe the API: %w", err)
	}
	return text, nil
}

// document builds the parts of a document.
type document struct {
	types    *schemas
	security []string // the names of the security schemes
}

// These types are the parts of a document, with the field names of the standard.
type (
	operation struct {
		Tags        []string              `json:"tags"`
		Summary     string                `json:"summary"`
		Description string                `json:"description"`
		ID          string                `json:"operationId"`
		Parameters  []Parameter           `json:"parameters,omitempty"`
		Body        *body                 `json:"requestBody,omitempty"`
		Responses   map[string]any        `json:"responses"`
		Security    []map[string][]string `json:"security"`
		Rule        string                `json:"x-rule"`
	}
	body struct {
		Required bool             `json:"required"`
		Content  map[string]media `json:"content"`
	}
	media struct {
		Schema  Schema `json:"schema"`
		Example any    `json:"example,omitempty"`
	}
	response struct {
		Description string            `json:"description"`
		Headers     map[string]Header `json:"headers,omitempty"`
		Content     map[string]media  `json:"content,omitempty"`
	}
)

func (d *document) operation(o Operation) operation {
	out := operation{Tags: []string{o.Tag}, Summary: o.Summary, Description: "Who may use it: " + o.Who + ".",
		ID: operationID(o), Rule: o.Who, Parameters: o.Parameters,
		Responses: map[string]any{}, Security: []map[string][]string{}}
	for _, name := range d.security {
		if !o.Open {
			out.Security = append(out.Security, map[string][]string{name: {}})
		}
	}
	if o.Body != nil {
		out.Body = &body{!o.Body.Optional, d.contentByMedia(o.Body.Content)}
	}
	for _, a := range o.Answers {
		out.Responses[strconv.Itoa(a.Status)] = response{a.About, headersByName(a.Headers), d.contentByMedia(a.Content)}
	}
	for _, status := range o.Errors {
		out.Responses[strconv.Itoa(status)] = map[string]string{"$ref": "#/components/responses/" + errorName(status)}
	}
	return out
}

func (d *document) contentByMedia(all []Content) map[string]media {
	out := map[string]media{}
	for _, c := range all {
		m := media{c.Schema, c.Example}
		if c.Type != nil {
			m.Schema = d.types.schemaOf(c.Type)
			if m.Example == nil {
				m.Example = d.types.example(reflect.TypeOf(c.Type))
			}
		}
		out[c.Media] = m
	}
	return out
}

func headersByName(all []Header) map[string]Header {
	out := map[string]Header{}
	for _, h := range all {
		out[h.Name] = h
	}
	return out
}

// failure returns the response for an error status. body is a value of the Go type of its body.
func (d *document) failure(status int, about string, body any) response {
	r := response{Description: about, Content: d.contentByMedia([]Content{{Media: "application/json", Type: body}})}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		r.Headers = headersByName([]Header{{Name: "Retry-After", About: "Seconds after which to try again.",
			Schema: Schema{"type": "integer", "minimum": 1}}})
	}
	return r
}

// errorName returns the name of the response for an error status, such as NotFound.
func errorName(status int) string { return strings.ReplaceAll(http.StatusText(status), " ", "") }

var words = regexp.MustCompile(`[A-Za-z0-9]+`)

// operationID returns the name that generated clients use for an operation: its method and all words of its path
// except the leading "api".
func operationID(o Operation) string {
	id := strings.ToLower(o.Method)
	for _, w := range words.FindAllString(strings.TrimPrefix(o.Path, "/api"), -1) {
		id += strings.ToUpper(w[:1]) + w[1:]
	}
	return id
}
