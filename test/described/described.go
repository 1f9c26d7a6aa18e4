// Package described holds what is said over HTTP against an OpenAPI description: nothing may be asked or answered that it does not tell of.
package described

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	checked "github.com/pb33f/libopenapi-validator/errors"
)

// Description is one that exchanges are held against. It may be used by several goroutines.
type Description struct {
	mu        sync.Mutex
	validator validator.Validator
	paths     map[string]map[string]json.RawMessage
	answered  map[string]bool
}

// New reads a description, and says what keeps it from being one of OpenAPI 3.1.
func New(text []byte) (*Description, error) {
	if err := valid(text); err != nil {
		return nil, err
	}
	d := &Description{answered: map[string]bool{}}
	closed, err := closeObjects(text)
	if err != nil {
		return nil, err
	}
	whole := struct {
		Paths *map[string]map[string]json.RawMessage `json:"paths"`
	}{&d.paths}
	if err := json.Unmarshal(closed, &whole); err != nil {
		return nil, err
	}
	read, err := libopenapi.NewDocument(closed)
	if err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	v, errs := validator.NewValidator(read, config.WithFormatAssertions(), config.WithoutSecurityValidation())
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	d.validator = v
	return d, nil
}

// valid holds a description against the schema of OpenAPI 3.1.
func valid(text []byte) error {
	read, err := libopenapi.NewDocument(text)
	if err != nil {
		return fmt.Errorf("read the description: %w", err)
	}
	v, errs := validator.NewValidator(read)
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	defer v.Release()
	if ok, bad := v.ValidateDocument(); !ok {
		return fmt.Errorf("this is no OpenAPI 3.1: %w", joined(bad))
	}
	return nil
}

// closeObjects has schemas allow no fields but those that they name, so that one that is answered and not described is found.
func closeObjects(text []byte) ([]byte, error) {
	var whole map[string]any
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, err
	}
	closeIn(whole)
	return json.Marshal(whole)
}

func closeIn(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			closeIn(one)
		}
	case map[string]any:
		if _, ok := v["properties"].(map[string]any); ok && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for name, one := range v {
			if name != "example" {
				closeIn(one)
			}
		}
	}
}

// Operations are all that are described, as "GET /path".
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

// Unanswered are the operations of which no good answer was seen.
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

// find is the operation that a request is of: the path with the fewest variables.
func (d *Description) find(r *http.Request) string {
	best, fewest := "", 1<<30
	for _, path := range slices.Sorted(maps.Keys(d.paths)) {
		if n, ok := fits(path, r.URL.EscapedPath()); ok && n < fewest && d.paths[path][strings.ToLower(r.Method)] != nil {
			best, fewest = r.Method+" "+path, n
		}
	}
	return best
}

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

// Check says what of an exchange is not as it is described. A request that was refused may be of any kind, its answer not. What no operation
// is for must be refused.
func (d *Description) Check(r *http.Request, body []byte, answer *http.Response, text []byte) error {
	return d.check(r, body, answer, text, answer.StatusCode < http.StatusBadRequest)
}

// CheckAnswer is Check for who asks in ways that servers take and no description can tell, as without a Content-Type.
func (d *Description) CheckAnswer(r *http.Request, answer *http.Response, text []byte) error {
	return d.check(r, nil, answer, text, false)
}

func (d *Description) check(r *http.Request, body []byte, answer *http.Response, text []byte, alsoRequest bool) error {
	if r.Method == http.MethodHead || answer.StatusCode == http.StatusNotModified || answer.StatusCode == http.StatusPartialContent || answer.Header.Get("Content-Encoding") != "" {
		return nil
	}
	name := d.find(r)
	if name == "" {
		if answer.StatusCode < http.StatusBadRequest && strings.HasPrefix(r.URL.Path, "/api/") { // others are the console's
			return fmt.Errorf("%s %s is answered with %d, and no operation is described for it", r.Method, r.URL.Path, answer.StatusCode)
		}
		return nil
	}
	asked, answered := r.Clone(r.Context()), *answer
	asked.URL.Path = strings.TrimSuffix(asked.URL.Path, "/")
	if asked.URL.Path == "" {
		asked.URL.Path = "/"
	}
	asked.Body, answered.Body = io.NopCloser(bytes.NewReader(body)), io.NopCloser(bytes.NewReader(text))
	d.mu.Lock()
	defer d.mu.Unlock()
	var bad []*checked.ValidationError
	d.answered[name] = d.answered[name] || answer.StatusCode < http.StatusBadRequest
	if alsoRequest {
		_, bad = d.validator.ValidateHttpRequestSync(asked)
		asked.Body = io.NopCloser(bytes.NewReader(body))
	}
	_, worse := d.validator.ValidateHttpResponse(asked, &answered)
	if bad = append(bad, worse...); len(bad) > 0 {
		return fmt.Errorf("%s, answered with %d %.2000s: %w", name, answer.StatusCode, text, joined(bad))
	}
	return nil
}

func joined(bad []*checked.ValidationError) error {
	var all []error
	for _, b := range bad {
		text := b.Message + ": " + b.Reason
		for _, s := range b.SchemaValidationErrors {
			text += "; " + s.FieldPath + " " + s.Reason
		}
		all = append(all, errors.New(text))
	}
	return errors.Join(all...)
}
