package described

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/test/jsonschema"
)

// Check returns an error that says in what an exchange differs from the description. A request that was refused may
// be of any form, its answer may not. A path without an operation must be refused.
func (d *Description) Check(r *http.Request, body []byte, answer *http.Response, text []byte) error {
	return d.check(r, body, answer, text, answer.StatusCode < http.StatusBadRequest)
}

// CheckAnswer is Check without the request, for requests that servers accept and no description can express, such
// as one without a Content-Type.
func (d *Description) CheckAnswer(r *http.Request, answer *http.Response, text []byte) error {
	return d.check(r, nil, answer, text, false)
}

func (d *Description) check(r *http.Request, body []byte, answer *http.Response, text []byte, alsoRequest bool) error {
	if r.Method == http.MethodHead || answer.StatusCode == http.StatusNotModified ||
		answer.StatusCode == http.StatusPartialContent || answer.Header.Get("Content-Encoding") != "" {
		return nil
	}
	path := d.find(r)
	if path == "" {
		// Other paths belong to the console.
		if answer.StatusCode < http.StatusBadRequest && strings.HasPrefix(r.URL.Path, "/api/") {
			return fmt.Errorf("%s %s is answered with %d, and no operation is described for it",
				r.Method, r.URL.Path, answer.StatusCode)
		}
		return nil
	}
	name := r.Method + " " + path
	if answer.StatusCode < http.StatusBadRequest {
		d.mu.Lock()
		d.answered[name] = true
		d.mu.Unlock()
	}
	o := d.paths[path][strings.ToLower(r.Method)]
	var bad error
	if alsoRequest {
		bad = errors.Join(o.checkParameters(path, r), o.checkBody(r.Header.Get("Content-Type"), body))
	}
	if bad = errors.Join(bad, o.checkAnswer(answer, text)); bad != nil {
		return fmt.Errorf("%s, answered with %d %.2000s: %w", name, answer.StatusCode, text, bad)
	}
	return nil
}

// checkParameters checks the described parameters of a request. The server must reject others.
func (o *operation) checkParameters(path string, r *http.Request) (bad error) {
	inPath, query := variables(path, r.URL.EscapedPath()), r.URL.Query()
	for _, p := range o.Parameters {
		var given []string
		switch p.In {
		case "path":
			given = inPath[p.Name]
		case "query":
			given = query[p.Name]
		case "header":
			given = r.Header.Values(p.Name)
		}
		if p.Required && len(given) == 0 {
			bad = errors.Join(bad, fmt.Errorf("the parameter %s is required", p.Name))
		}
		for _, text := range given {
			if err := p.Schema.Check(scalar(p.Schema.Type, text)); err != nil {
				bad = errors.Join(bad, fmt.Errorf("the parameter %s: %w", p.Name, err))
			}
		}
	}
	return bad
}

// variables returns the values of a template's variables in a path that fits it.
func variables(template, path string) map[string][]string {
	values := map[string][]string{}
	given := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, name := range strings.Split(template, "/") {
		if strings.HasPrefix(name, "{") {
			text, err := url.PathUnescape(given[i])
			if err != nil {
				text = given[i]
			}
			values[strings.Trim(name, "{}")] = []string{text}
		}
	}
	return values
}

// scalar returns a parameter as a JSON value of its type. If the text is not of the type, the result is a string,
// which the schema rejects.
func scalar(types []string, text string) any {
	switch value, err := jsonschema.Decode([]byte(text)); value.(type) {
	case bool:
		if slices.Contains(types, "boolean") {
			return value
		}
	case json.Number:
		if err == nil && (slices.Contains(types, "integer") || slices.Contains(types, "number")) {
			return value
		}
	}
	return text
}

// checkBody checks a request's body.
func (o *operation) checkBody(kind string, body []byte) error {
	switch {
	case len(body) == 0 && o.RequestBody.Required:
		return errors.New("the body is required")
	case len(body) == 0 || o.RequestBody.Content == nil: // the server ignores it
		return nil
	}
	return checkContent(o.RequestBody.Content, kind, body)
}

// checkAnswer checks an answer's status, content type and body.
func (o *operation) checkAnswer(answer *http.Response, text []byte) error {
	described, ok := o.Responses[strconv.Itoa(answer.StatusCode)]
	if !ok {
		return fmt.Errorf("the status %d is not described", answer.StatusCode)
	}
	if len(described.Content) == 0 {
		return nil
	}
	return checkContent(described.Content, answer.Header.Get("Content-Type"), text)
}

// checkContent checks a body and its content type against the described content.
func checkContent(content map[string]media, kind string, body []byte) error {
	described, err := matching(content, kind)
	if err != nil {
		return err
	}
	schema := content[described].Schema
	if base, _, _ := mime.ParseMediaType(kind); base != "application/json" || schema == nil {
		return nil
	}
	value, err := jsonschema.Decode(body)
	if err != nil {
		return fmt.Errorf("the body is not JSON: %w", err)
	}
	return schema.Check(value)
}

// matching returns the described content type that includes the given one.
func matching(content map[string]media, kind string) (string, error) {
	given, _, err := mime.ParseMediaType(kind)
	if err != nil {
		return "", fmt.Errorf("read the content type %q: %w", kind, err)
	}
	var all []string
	for described := range content {
		if base, _, err := mime.ParseMediaType(described); err == nil && (base == given || base == "*/*") {
			return described, nil
		}
		all = append(all, described)
	}
	slices.Sort(all)
	return "", fmt.Errorf("the content type %q is not described; those are %s", kind, strings.Join(all, ", "))
}
