package described

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
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
	d.mu.Lock()
	defer d.mu.Unlock()
	path := d.find(r)
	if path == "" {
		// Other paths are the console's.
		if answer.StatusCode < http.StatusBadRequest && strings.HasPrefix(r.URL.Path, "/api/") {
			return fmt.Errorf("%s %s is answered with %d, and no operation is described for it",
				r.Method, r.URL.Path, answer.StatusCode)
		}
		return nil
	}
	name := r.Method + " " + path
	d.answered[name] = d.answered[name] || answer.StatusCode < http.StatusBadRequest
	at, o := pointer("paths", path, strings.ToLower(r.Method)), d.paths[path][strings.ToLower(r.Method)]
	var bad error
	if alsoRequest {
		bad = errors.Join(d.checkParameters(at, o, path, r), d.checkBody(at, o, r.Header.Get("Content-Type"), body))
	}
	if bad = errors.Join(bad, d.checkAnswer(at, o, answer, text)); bad != nil {
		return fmt.Errorf("%s, answered with %d %.2000s: %w", name, answer.StatusCode, text, bad)
	}
	return nil
}

// checkParameters checks the described parameters of a request. Others are the server's to refuse.
func (d *Description) checkParameters(at string, o *operation, path string, r *http.Request) (bad error) {
	inPath, query := variables(path, r.URL.EscapedPath()), r.URL.Query()
	for i, p := range o.Parameters {
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
		schema, err := d.schema(at + pointer("parameters", strconv.Itoa(i), "schema"))
		if err != nil {
			return err
		}
		for _, text := range given {
			if err := schema.Validate(scalar(p.Schema.Type, text)); err != nil {
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

// scalar is a parameter's text as a JSON value of its type; a text that is not of the type stays a string, which
// its schema refuses.
func scalar(kind, text string) any {
	switch kind {
	case "boolean":
		if v, err := strconv.ParseBool(text); err == nil {
			return v
		}
	case "integer", "number":
		if v, err := jsonschema.UnmarshalJSON(strings.NewReader(text)); err == nil {
			return v
		}
	}
	return text
}

// checkBody checks a request's body.
func (d *Description) checkBody(at string, o *operation, kind string, body []byte) error {
	if len(body) == 0 {
		if o.RequestBody != nil && o.RequestBody.Required {
			return errors.New("the body is required")
		}
		return nil
	}
	if o.RequestBody == nil {
		return nil // ignored by the server
	}
	return d.checkContent(at+pointer("requestBody"), o.body(), kind, body)
}

// checkAnswer checks an answer's status, content type and body.
func (d *Description) checkAnswer(at string, o *operation, answer *http.Response, text []byte) error {
	described, at, err := d.response(at, o, strconv.Itoa(answer.StatusCode))
	if err != nil {
		return err
	}
	if len(described.Content) == 0 {
		return nil
	}
	return d.checkContent(at, described.Content, answer.Header.Get("Content-Type"), text)
}

// checkContent checks a body, and its type, against the content that is described at a JSON pointer.
func (d *Description) checkContent(at string, content map[string]media, kind string, body []byte) error {
	described, err := matching(content, kind)
	if err != nil {
		return err
	}
	if base, _, _ := mime.ParseMediaType(kind); base != "application/json" || content[described].Schema == nil {
		return nil
	}
	schema, err := d.schema(at + pointer("content", described, "schema"))
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the body is not JSON: %w", err)
	}
	return schema.Validate(value)
}

// matching returns the described content type that a given one is of.
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
