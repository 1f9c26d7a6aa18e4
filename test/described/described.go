// Package described checks HTTP exchanges against an OpenAPI 3.1 description: every successful request and every
// answer must conform to it.
package described

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/elasticjob-go/elasticjob/test/jsonschema"
)

// Description is an OpenAPI description that exchanges are checked against. It is safe for concurrent use.
type Description struct {
	paths    map[string]map[string]*operation
	mu       sync.Mutex
	answered map[string]bool // the operations that were answered without an error
}

// operation is a method of a path.
type operation struct {
	Parameters  []parameter
	RequestBody struct {
		Required bool
		Content  map[string]media
	}
	Responses map[string]*response
}

type parameter struct {
	Name, In string
	Required bool
	Schema   *jsonschema.Schema
}

type response struct {
	Ref     string `json:"$ref"`
	Content map[string]media
}

type media struct {
	Schema *jsonschema.Schema
}

// New reads a description. It returns an error if a schema contains an unknown keyword or an unresolved reference.
// test/conformance checks that the text is an OpenAPI 3.1 document.
func New(text []byte) (*Description, error) {
	var read struct {
		Paths      map[string]map[string]*operation
		Components struct {
			Responses map[string]*response
			Schemas   map[string]*jsonschema.Schema
		}
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	var bad error
	resolve := func(where string, s *jsonschema.Schema) {
		if err := s.Resolve(read.Components.Schemas); err != nil {
			bad = errors.Join(bad, fmt.Errorf("%s: %w", where, err))
		}
	}
	for name, s := range read.Components.Schemas {
		resolve(name, s)
	}
	for name, r := range read.Components.Responses {
		for _, m := range r.Content {
			resolve(name, m.Schema)
		}
	}
	for path, methods := range read.Paths {
		for method, o := range methods {
			where := method + " " + path
			for _, p := range o.Parameters {
				if p.Schema == nil {
					bad = errors.Join(bad, fmt.Errorf("%s: the parameter %s has no schema", where, p.Name))
				}
				resolve(where, p.Schema)
			}
			for _, m := range o.RequestBody.Content {
				resolve(where, m.Schema)
			}
			for status, r := range o.Responses {
				if name, shared := strings.CutPrefix(r.Ref, "#/components/responses/"); shared {
					if o.Responses[status] = read.Components.Responses[name]; o.Responses[status] == nil {
						bad = errors.Join(bad, fmt.Errorf("%s: there is no response %s", where, r.Ref))
					}
					continue
				}
				for _, m := range r.Content {
					resolve(where, m.Schema)
				}
			}
		}
	}
	return &Description{paths: read.Paths, answered: map[string]bool{}}, bad
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

// fits reports whether a path matches a template such as /api/job/{jobName}, and how many variables the template has.
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
