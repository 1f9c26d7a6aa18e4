// Package request reads requests: bodies, forms, names in the path and parameters of the query. What is wrong with a
// request is collected, and told all at once.
package request

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
)

// Body reads a whole body of a content type that our routes take. What curl
// sends without -H, application/x-www-form-urlencoded, is read as JSON too.
func Body(c *gin.Context) ([]byte, error) {
	if given := c.GetHeader("Content-Type"); given != "" {
		kind, _, err := mime.ParseMediaType(given)
		if err != nil || !slices.Contains([]string{"application/json", "text/plain",
			"application/x-www-form-urlencoded"}, kind) {
			return nil, failure.New(http.StatusUnsupportedMediaType, "content_type_not_supported",
				"the body must be JSON: send the header Content-Type: application/json, not %s", failure.Quoted(given))
		}
	}
	if given := c.GetHeader("Content-Encoding"); given != "" && given != "identity" {
		return nil, failure.New(http.StatusUnsupportedMediaType, "content_encoding_not_supported",
			"the body must not be compressed; its Content-Encoding is %s", failure.Quoted(given))
	}
	return WholeBody(c.Request)
}

// WholeBody reads a body to its end.
func WholeBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil && !errors.As(err, new(*http.MaxBytesError)) {
		err = failure.BadRequest("body_incomplete", "the body did not arrive whole: %v", err)
	}
	return body, err
}

// bodyName reads a name that is a body of its own: a JSON string or the bare word.
func nameInBody(c *gin.Context) (string, error) {
	body, err := Body(c)
	if err != nil {
		return "", err
	}
	name := strings.TrimSpace(string(body))
	switch {
	case name == "":
		return "", failure.BadRequest("name_missing",
			"the body is empty; it must be the job's name, for instance: my_job")
	case !utf8.ValidString(name):
		return "", failure.BadRequest("bad_name", "the body must be the job's name, and is not UTF-8")
	case strings.HasPrefix(name, `"`):
		var unquoted string
		if err := json.Unmarshal([]byte(name), &unquoted); err != nil {
			return "", failure.BadRequest("bad_json",
				"the body must be the job's name, bare or as a JSON string; it begins as a JSON string and is none: %v", err)
		}
		return unquoted, nil
	case strings.ContainsAny(name[:1], "{["):
		return "", failure.BadRequest("bad_name",
			"the body must be just the job's name, bare or as a JSON string, for instance: my_job")
	}
	return name, nil
}

// PathValue is the decoded text of a variable in the path [D02].
func PathValue(c *gin.Context, variable string) (string, error) {
	text, err := url.PathUnescape(c.Param(variable))
	if err != nil {
		return "", failure.BadRequest("bad_path", "the %s in the path is not percent-encoded right: %v", variable, err)
	}
	return text, nil
}

// CheckName refuses names that nothing can have, before anyone looks for them, and remembers what the request is about.
func CheckName(c *gin.Context, what, name string) (string, error) {
	SetSubject(c, what, name)
	if len(app.CheckName("name", name, nil)) > 0 {
		return "", failure.NotFound(what+"_not_found",
			"there is no %s %s, and there can be none: names are 1 to 100 letters, digits, '.', '_' or '-', beginning with a letter or digit", what, failure.Quoted(name))
	}
	return name, nil
}

// Naming finds the name of the app or job that a request is about.
type Naming func(c *gin.Context) (string, error)

// PathName finds it in the path: in appName or jobName.
func PathName(kind string) Naming {
	return func(c *gin.Context) (string, error) {
		name, err := PathValue(c, kind+"Name")
		if err != nil {
			return "", err
		}
		return CheckName(c, kind, name)
	}
}

// JobNameInBody is the name of a job that is the whole body.
func JobNameInBody(c *gin.Context) (string, error) {
	name, err := nameInBody(c)
	if err != nil {
		return "", err
	}
	return CheckName(c, "job", name)
}

// Query reads the values of a query string and collects what is wrong with them.
type Query struct {
	values url.Values
	// unread says why the string could not be read, bad which of its values break rules.
	unread error
	bad    document.Violations
}

// readQuery refuses what a route does not know and what is given twice.
func readQuery(r *http.Request, names ...string) *Query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &Query{values: values, unread: err}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case slices.Contains(names, name) && len(values[name]) > 1:
			q.Refuse(name, "is given %d times", len(values[name]))
		case slices.Contains(names, name):
		case len(names) == 0:
			q.Refuse(name, "unknown parameter: this route takes none")
		default:
			q.Refuse(name, "unknown parameter; this route takes %s", strings.Join(names, ", "))
		}
	}
	return q
}

// Refuse notes a rule that a parameter breaks.
func (q *Query) Refuse(name, format string, args ...any) {
	q.bad = append(q.bad, document.Violate(name, q.values.Get(name), format, args...))
}

// queryKey of a request's context holds its query, read by its route's row.
const queryKey = "query"

// WithQuery reads the query of requests before they are answered.
func WithQuery(takes []Declared, work gin.HandlerFunc) gin.HandlerFunc {
	names := namesOf(takes)
	return func(c *gin.Context) {
		c.Set(queryKey, readQuery(c.Request, names...))
		work(c)
	}
}

// QueryOf is the query of a request, in which the parameters of its route's row are known.
func QueryOf(c *gin.Context) *Query { return c.MustGet(queryKey).(*Query) }

// Has reports whether the query has a parameter.
func (q *Query) Has(name string) bool { return q.values.Has(name) }

// Get is the text of a parameter, empty when absent.
func (q *Query) Get(name string) string { return q.values.Get(name) }

// Parse has another package read the query. Forms of consoles send fields that nobody has filled in, too: they count
// as not given.
func (q *Query) Parse(read func(url.Values) document.Violations) {
	maps.DeleteFunc(q.values, func(_ string, given []string) bool { return given[0] == "" })
	q.bad = append(q.bad, read(q.values)...)
}

// Err is all that was refused.
func (q *Query) Err() error {
	switch {
	case q.unread != nil:
		return failure.BadRequest("bad_query", "the query is not encoded right: %v", q.unread)
	case len(q.bad) > 0:
		return &failure.Failure{Status: http.StatusBadRequest, Code: "bad_query",
			Message: "the query: " + q.bad.Error(),
			Fields:  q.bad}
	}
	return nil
}

// These keys of a request's context hold what it is about, as far as it names it.
const subjectKind, subjectName = "subject kind", "subject name"

// Subject is what a request is about, as far as it names it: "app" or "job", and the name.
func Subject(c *gin.Context) (kind, name string) {
	return c.GetString(subjectKind), c.GetString(subjectName)
}

// SetSubject remembers what a request is about.
func SetSubject(c *gin.Context, what, name string) {
	c.Set(subjectKind, what)
	c.Set(subjectName, name)
}

// FieldNames are the names in JSON of a struct's fields, those that are embedded included.
func FieldNames(t reflect.Type) (names []string) {
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}
