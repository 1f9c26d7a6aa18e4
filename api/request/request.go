// Package request reads requests: bodies, forms, names in the path and parameters of the query. It collects everything
// that is wrong with a request, so that one answer reports all of it.
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
	"github.com/elasticjob-go/elasticjob/internal/textfile"
)

// Body reads the whole body. It returns an error unless the content type is JSON or plain text. It also accepts
// application/x-www-form-urlencoded, which curl sends unless -H sets another type, and reads it as JSON. It returns UTF-8,
// decoded by a byte order mark or the charset of the content type.
func Body(c *gin.Context) ([]byte, error) {
	charset := ""
	if given := c.GetHeader("Content-Type"); given != "" {
		kind, parameters, err := mime.ParseMediaType(given)
		if err != nil || !slices.Contains([]string{"application/json", "text/plain",
			"application/x-www-form-urlencoded"}, kind) {
			return nil, failure.New(http.StatusUnsupportedMediaType, "content_type_not_supported",
				"the body must be JSON: send the header Content-Type: application/json, not %s", failure.Quoted(given))
		}
		charset = parameters["charset"]
	}
	if given := c.GetHeader("Content-Encoding"); given != "" && given != "identity" {
		return nil, failure.New(http.StatusUnsupportedMediaType, "content_encoding_not_supported",
			"the body must not be compressed; its Content-Encoding is %s", failure.Quoted(given))
	}
	body, err := WholeBody(c.Request)
	if err != nil {
		return body, err
	}
	text, err := textfile.Decode(body, charset)
	if err != nil {
		return nil, failure.BadRequest("bad_json", "the body: %v, or name its encoding in the header Content-Type: application/json; charset=…", err)
	}
	return text, nil
}

// WholeBody reads a body to its end, whatever its content type.
func WholeBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil && !errors.As(err, new(*http.MaxBytesError)) {
		err = failure.BadRequest("body_incomplete", "the body was cut off: %v", err)
	}
	return body, err
}

// nameInBody reads a body that is just a name: a JSON string or the bare word.
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
				"the body must be the job's name, bare or as a JSON string; it begins like a JSON string but is not one: %v", err)
		}
		return unquoted, nil
	case strings.ContainsAny(name[:1], "{["):
		return "", failure.BadRequest("bad_name",
			"the body must be just the job's name, bare or as a JSON string, for instance: my_job")
	}
	return name, nil
}

// PathValue returns the decoded text of a variable in the path [D02].
func PathValue(c *gin.Context, variable string) (string, error) {
	text, err := url.PathUnescape(c.Param(variable))
	if err != nil {
		return "", failure.BadRequest("bad_path", "the %s in the path is not correctly percent-encoded: %v", variable, err)
	}
	return text, nil
}

// CheckName returns NotFound for a name that no app or job can have, so that nothing is looked up under it. It records
// the name as the subject of the request.
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

// PathName returns a Naming that reads the name from the path variable appName or jobName.
func PathName(kind string) Naming {
	return func(c *gin.Context) (string, error) {
		name, err := PathValue(c, kind+"Name")
		if err != nil {
			return "", err
		}
		return CheckName(c, kind, name)
	}
}

// JobNameInBody is a Naming that reads the job's name from the body, which holds nothing else.
func JobNameInBody(c *gin.Context) (string, error) {
	name, err := nameInBody(c)
	if err != nil {
		return "", err
	}
	return CheckName(c, "job", name)
}

// Query reads the values of a query string and collects its violations.
type Query struct {
	values url.Values
	// unread is the error if the string could not be parsed; bad holds the violations of single values.
	unread error
	bad    document.Violations
}

// readQuery parses the query. Parameters that the route does not have, and repeated ones, are violations.
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

// Refuse records a rule that a parameter breaks.
func (q *Query) Refuse(name, format string, args ...any) {
	q.bad = append(q.bad, document.Violate(name, q.values.Get(name), format, args...))
}

// queryKey is the key in a request's context of its Query, which WithQuery has set.
const queryKey = "query"

// WithQuery returns a handler that parses the query before it calls work. QueryOf then returns the query.
func WithQuery(takes []Declared, work gin.HandlerFunc) gin.HandlerFunc {
	names := namesOf(takes)
	return func(c *gin.Context) {
		c.Set(queryKey, readQuery(c.Request, names...))
		work(c)
	}
}

// QueryOf returns the query of a request. It panics outside a handler that WithQuery wraps.
func QueryOf(c *gin.Context) *Query { return c.MustGet(queryKey).(*Query) }

// Has reports whether the query has the parameter.
func (q *Query) Has(name string) bool { return q.values.Has(name) }

// Get returns the text of a parameter, "" if it is absent.
func (q *Query) Get(name string) string { return q.values.Get(name) }

// Parse lets another package read the query and records the violations that it returns. Parameters with an empty value
// count as absent, because forms of consoles also send the fields that nobody filled in.
func (q *Query) Parse(read func(url.Values) document.Violations) {
	maps.DeleteFunc(q.values, func(_ string, given []string) bool { return given[0] == "" })
	q.bad = append(q.bad, read(q.values)...)
}

// Err returns everything that is wrong with the query as one error, nil if nothing is.
func (q *Query) Err() error {
	switch {
	case q.unread != nil:
		return failure.BadRequest("bad_query", "the query is not correctly encoded: %v", q.unread)
	case len(q.bad) > 0:
		return &failure.Failure{Status: http.StatusBadRequest, Code: "bad_query",
			Message: "the query: " + q.bad.Error(),
			Fields:  q.bad}
	}
	return nil
}

// subjectKind and subjectName are the keys in a request's context of its subject.
const subjectKind, subjectName = "subject kind", "subject name"

// Subject returns what a request is about: "app" or "job", and the name. Both are "" if the request names neither.
func Subject(c *gin.Context) (kind, name string) {
	return c.GetString(subjectKind), c.GetString(subjectName)
}

// SetSubject records what a request is about.
func SetSubject(c *gin.Context, what, name string) {
	c.Set(subjectKind, what)
	c.Set(subjectName, name)
}

// FieldNames returns the JSON names of a struct's fields, including those of embedded structs.
func FieldNames(t reflect.Type) (names []string) {
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}
