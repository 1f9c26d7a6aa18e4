package request

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// Form reads a small JSON object that is the whole body, and collects its violations. A form may hold passwords, so no
// violation shows a value.
type Form struct {
	given map[string]json.RawMessage
	bad   document.Violations
}

// ReadForm reads a body with the JSON fields of B. It returns an error if the body is not an object, or names a field
// twice; unknown fields are violations.
func ReadForm[B any](c *gin.Context) (*Form, error) {
	names := FieldNames(reflect.TypeFor[B]())
	body, err := Body(c)
	if err != nil {
		return nil, err
	}
	f := &Form{}
	if twice := duplicateField(body); twice != "" {
		return nil, failure.BadRequest("bad_json", "the body has the field %s twice", failure.Quoted(twice))
	}
	if !utf8.Valid(body) || json.Unmarshal(body, &f.given) != nil || f.given == nil {
		return nil, failure.BadRequest("bad_json", "the body must be a JSON object in UTF-8 with %s",
			strings.Join(names, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(f.given)) {
		if slices.Contains(names, name) {
			continue
		}
		if near := spelling.Nearest(name, names); near != "" {
			f.Refuse(name, "unknown field; did you mean %s?", near)
		} else {
			f.Refuse(name, "unknown field; there are %s", strings.Join(names, ", "))
		}
	}
	return f, nil
}

// duplicateField returns a field that an object has more than once, or "". A proxy that inspected the body may have
// used the other of the two values, so such a body is refused.
func duplicateField(body []byte) string {
	d := json.NewDecoder(bytes.NewReader(body))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return ""
	}
	seen := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		text, ok := name.(string)
		if err != nil || !ok {
			return ""
		}
		if seen[text] {
			return text
		}
		seen[text] = true
		if d.Decode(&json.RawMessage{}) != nil {
			return ""
		}
	}
	return ""
}

// Refuse records a rule that a field breaks.
func (f *Form) Refuse(name, format string, args ...any) {
	f.bad = append(f.bad, document.Violate(name, "", format, args...))
}

// Has reports whether the body has the field with a value other than null.
func (f *Form) Has(name string) bool {
	raw, ok := f.given[name]
	return ok && string(raw) != "null"
}

// read decodes a field into the given variable, which stays unchanged if the field is absent or null.
func (f *Form) read(name string, into any, rule string) {
	if f.Has(name) && json.Unmarshal(f.given[name], into) != nil {
		f.Refuse(name, "%s", rule)
	}
}

// Text returns a text field, "" if it is absent.
func (f *Form) Text(name string) (text string) {
	f.read(name, &text, "must be a text")
	return text
}

// Moment returns a time field, zero if it is absent.
func (f *Form) Moment(name string) (at time.Time) {
	f.read(name, &at, "must be a time such as 2026-05-01T12:00:00Z")
	return at
}

// Grant returns the role and its app patterns. An empty list of patterns is a violation: a grant for all apps leaves
// the field out.
func (f *Form) Grant() (g auth.Grant) {
	switch {
	case !f.Has("role"):
		f.Refuse("role", "is missing: it must be one of admin, operator, viewer, metrics")
	default:
		f.read("role", &g.Role, "must be one of admin, operator, viewer, metrics")
	}
	f.read("apps", &g.Apps, "must be a list of patterns of app names, such as [\"billing-*\"]")
	if f.Has("apps") && g.Apps != nil && len(g.Apps) == 0 {
		f.Refuse("apps", "is empty: name apps, or leave it out for all apps")
	}
	if why := auth.CheckApps(g.Apps); why != "" {
		f.Refuse("apps", "%s", why)
	}
	return g
}

// With joins the violations of the form with those in err. If err is any other error, With returns it unchanged.
func (f *Form) With(err error) error {
	rules, ok := err.(document.Violations)
	if err != nil && !ok {
		return err
	}
	return f.bad.And(rules).OrNil()
}
