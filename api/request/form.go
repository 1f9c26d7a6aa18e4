package request

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// Form reads the fields of a body that is one small JSON object, and collects its violations. A form may hold
// passwords, so no violation shows a value.
type Form struct {
	given      map[string]json.RawMessage
	violations document.Violations
}

// ReadForm reads a body that is an object with the JSON fields of B. It returns an error if the body cannot be read,
// is not an object, or has a field twice. Fields that B does not have are violations of the form.
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

// ReadOptionalForm is ReadForm for a body that may be missing: the form is then empty.
func ReadOptionalForm[B any](c *gin.Context) (*Form, error) {
	if c.Request.ContentLength == 0 {
		return &Form{}, nil
	}
	return ReadForm[B](c)
}

// duplicateField returns the name of a field that the object in the body has more than once, or "". A proxy that
// inspects bodies may have seen the other one of the two values, so such a body is refused.
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

// Refuse records a violation of a field: the broken rule.
func (f *Form) Refuse(name, format string, args ...any) {
	f.violations = append(f.violations, document.Violate(name, "", format, args...))
}

// Refused reports whether a violation of a field was recorded. The caller then checks that field no further.
func (f *Form) Refused(name string) bool {
	return slices.ContainsFunc(f.violations, func(v document.Violation) bool { return v.Field == name })
}

// Has reports whether the body has the field with a value other than null.
func (f *Form) Has(name string) bool {
	raw, ok := f.given[name]
	return ok && string(raw) != "null"
}

// read decodes a field into a variable, which stays unchanged if the field is absent or null. If the field has another
// type, it records rule as a violation.
func (f *Form) read(name string, into any, rule string) {
	if f.Has(name) && json.Unmarshal(f.given[name], into) != nil {
		f.Refuse(name, "%s", rule)
	}
}

// Text returns a text field. It is "" if the field is absent.
func (f *Form) Text(name string) (text string) {
	f.read(name, &text, "must be a text")
	return text
}

// Flag returns a field that is true or false. It is false if the field is absent.
func (f *Form) Flag(name string) (flag bool) {
	f.read(name, &flag, "must be true or false")
	return flag
}

// Number returns a field that is a whole number within bounds. It is 0 if the field is absent.
func (f *Form) Number(name string, minimum, maximum int) (n int) {
	before := len(f.violations)
	f.read(name, &n, fmt.Sprintf("must be a whole number from %d to %d", minimum, maximum))
	if f.Has(name) && len(f.violations) == before && (n < minimum || n > maximum) {
		f.Refuse(name, "must be a whole number from %d to %d", minimum, maximum)
	}
	return n
}

// Moment returns a time field. It is zero if the field is absent.
func (f *Form) Moment(name string) (t time.Time) {
	f.read(name, &t, "must be a time such as 2026-05-01T12:00:00Z")
	return t
}

// Grant returns the grant in the fields role and apps. An empty list of apps is a violation, because a grant for all
// apps must leave the field out.
func (f *Form) Grant() (g auth.Grant) {
	if f.Has("role") {
		f.read("role", &g.Role, "must be one of admin, operator, viewer, metrics")
	} else {
		f.Refuse("role", "is missing: it must be one of admin, operator, viewer, metrics")
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

// With returns the violations of the form together with those in err, nil if there are none. If err is another error
// than violations, With returns only err.
func (f *Form) With(err error) error {
	rules, ok := err.(document.Violations)
	if err != nil && !ok {
		return err
	}
	return f.violations.And(rules).OrNil()
}
