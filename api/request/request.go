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

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/textfile"
)

// Body reads the whole body and returns it in UTF-8, decoded by its byte order mark or the charset of its content
// type. It returns an error for a compressed body, and for a content type other than JSON and plain text. It accepts
// application/x-www-form-urlencoded too, because curl sends this type for JSON unless -H sets another.
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
		return nil, failure.BadRequest("bad_json",
			"the body: %v, or name its encoding in the header Content-Type: application/json; charset=…", err)
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

// nameInBody reads a body that is only a job's name: a JSON string or the bare word.
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
		return "", failure.BadRequest("bad_path", "the %s in the path is not correctly percent-encoded: %v", variable,
			err)
	}
	return text, nil
}

// CheckName returns the name, or NotFound if no app or job can have it, so that the scheduler need not look it up. It
// records the name as the subject of the request. kind is "app" or "job".
func CheckName(c *gin.Context, kind, name string) (string, error) {
	SetSubject(c, kind, name)
	if len(app.CheckName("name", name, nil)) > 0 {
		return "", failure.NotFound(kind+"_not_found",
			"there is no %s %s, and there can be none: names are 1 to 100 letters, digits, '.', '_' or '-', beginning with a letter or digit",
			kind, failure.Quoted(name))
	}
	return name, nil
}

// NameReader returns the name of the app or job that a request is about.
type NameReader func(c *gin.Context) (string, error)

// PathName returns a NameReader for the path variable appName or jobName. kind is "app" or "job".
func PathName(kind string) NameReader {
	return func(c *gin.Context) (string, error) {
		name, err := PathValue(c, kind+"Name")
		if err != nil {
			return "", err
		}
		return CheckName(c, kind, name)
	}
}

// JobNameInBody is a NameReader for a body that contains only the job's name.
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
	// parseErr is the error if the string could not be parsed; violations are those of single parameters.
	parseErr   error
	violations document.Violations
}

// readQuery parses the query. A parameter that is not in names, or is repeated, is a violation.
func readQuery(r *http.Request, names ...string) *Query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &Query{values: values, parseErr: err}
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

// Refuse records that a parameter is invalid. format and args say which rule it breaks.
func (q *Query) Refuse(name, format string, args ...any) {
	q.violations = append(q.violations, document.Violate(name, q.values.Get(name), format, args...))
}

// queryKey is the key under which WithQuery puts the Query into a request's context.
const queryKey = "query"

// WithQuery returns a handler that parses the query and then calls next, in which QueryOf returns the query.
func WithQuery(parameters []Declared, next gin.HandlerFunc) gin.HandlerFunc {
	names := namesOf(parameters)
	return func(c *gin.Context) {
		c.Set(queryKey, readQuery(c.Request, names...))
		next(c)
	}
}

// QueryOf returns the query of a request. It panics outside a handler that WithQuery wraps.
func QueryOf(c *gin.Context) *Query { return c.MustGet(queryKey).(*Query) }

// Has reports whether the query has the parameter.
func (q *Query) Has(name string) bool { return q.values.Has(name) }

// Get returns the text of a parameter, or "" if the parameter is absent.
func (q *Query) Get(name string) string { return q.values.Get(name) }

// Parse calls read with the query's values and records the returned violations. Parameters with an empty value count
// as absent, because HTML forms also send fields that are not filled in.
func (q *Query) Parse(read func(url.Values) document.Violations) {
	maps.DeleteFunc(q.values, func(_ string, given []string) bool { return given[0] == "" })
	q.violations = append(q.violations, read(q.values)...)
}

// Err returns all violations of the query as one error, or nil.
func (q *Query) Err() error {
	switch {
	case q.parseErr != nil:
		return failure.BadRequest("bad_query", "the query is not correctly encoded: %v", q.parseErr)
	case len(q.violations) > 0:
		return &failure.Failure{Status: http.StatusBadRequest, Code: "bad_query",
			Message: "the query: " + q.violations.Error(),
			Fields:  q.violations}
	}
	return nil
}

// subjectKind and subjectName are the keys of a request's subject in its context.
const subjectKind, subjectName = "subject kind", "subject name"

// Subject returns the app or job that a request is about: the kind "app" or "job", and the name. Both are "" if the
// request is about neither.
func Subject(c *gin.Context) (kind, name string) {
	return c.GetString(subjectKind), c.GetString(subjectName)
}

// SetSubject records the app or job that a request is about, for Subject.
func SetSubject(c *gin.Context, kind, name string) {
	c.Set(subjectKind, kind)
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
