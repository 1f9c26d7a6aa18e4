package api

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
)

// readBody reads a whole body of a content type that our routes take. What curl
// sends without -H, application/x-www-form-urlencoded, is read as JSON too.
func readBody(c *gin.Context) ([]byte, error) {
	if given := c.GetHeader("Content-Type"); given != "" {
		kind, _, err := mime.ParseMediaType(given)
		if err != nil || !slices.Contains([]string{"application/json", "text/plain",
			"application/x-www-form-urlencoded"}, kind) {
			return nil, failed(http.StatusUnsupportedMediaType, "content_type_not_supported",
				"the body must be JSON: send the header Content-Type: application/json, not %s", quoted(given))
		}
	}
	if given := c.GetHeader("Content-Encoding"); given != "" && given != "identity" {
		return nil, failed(http.StatusUnsupportedMediaType, "content_encoding_not_supported",
			"the body must not be compressed; its Content-Encoding is %s", quoted(given))
	}
	return wholeBody(c.Request)
}

// wholeBody reads a body to its end.
func wholeBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil && !errors.As(err, new(*http.MaxBytesError)) {
		err = badRequest("body_incomplete", "the body did not arrive whole: %v", err)
	}
	return body, err
}

// bodyName reads a name that is a body of its own: a JSON string or the bare word.
func bodyName(c *gin.Context) (string, error) {
	body, err := readBody(c)
	if err != nil {
		return "", err
	}
	name := strings.TrimSpace(string(body))
	switch {
	case name == "":
		return "", badRequest("name_missing", "the body is empty; it must be the job's name, for instance: my_job")
	case !utf8.ValidString(name):
		return "", badRequest("bad_name", "the body must be the job's name, and is not UTF-8")
	case strings.HasPrefix(name, `"`):
		var unquoted string
		if err := json.Unmarshal([]byte(name), &unquoted); err != nil {
			return "", badRequest("bad_json",
				"the body must be the job's name, bare or as a JSON string; it begins as a JSON string and is none: %v", err)
		}
		return unquoted, nil
	case strings.ContainsAny(name[:1], "{["):
		return "", badRequest("bad_name",
			"the body must be just the job's name, bare or as a JSON string, for instance: my_job")
	}
	return name, nil
}

// pathValue is the decoded text of a variable in the path [D02].
func pathValue(c *gin.Context, variable string) (string, error) {
	text, err := url.PathUnescape(c.Param(variable))
	if err != nil {
		return "", badRequest("bad_path", "the %s in the path is not percent-encoded right: %v", variable, err)
	}
	return text, nil
}

// known refuses names that nothing can have, before anyone looks for them, and remembers what the request is about.
func known(c *gin.Context, what, name string) (string, error) {
	isAbout(c, what, name)
	if len(app.CheckName("name", name, nil)) > 0 {
		return "", notFound(what+"_not_found",
			"there is no %s %s, and there can be none: names are 1 to 100 letters, digits, '.', '_' or '-', beginning with a letter or digit", what, quoted(name))
	}
	return name, nil
}

// naming finds the name of the app or job that a request is about.
type naming func(c *gin.Context) (string, error)

// pathName finds it in the path: in appName or jobName.
func pathName(kind string) naming {
	return func(c *gin.Context) (string, error) {
		name, err := pathValue(c, kind+"Name")
		if err != nil {
			return "", err
		}
		return known(c, kind, name)
	}
}

// bodyJobName is the name of a job that is the whole body.
func bodyJobName(c *gin.Context) (string, error) {
	name, err := bodyName(c)
	if err != nil {
		return "", err
	}
	return known(c, "job", name)
}

// query reads the values of a query string and collects what is wrong with them.
type query struct {
	values url.Values
	// unread says why the string could not be read, bad which of its values break rules.
	unread error
	bad    document.Violations
}

// readQuery refuses what a route does not know and what is given twice.
func readQuery(r *http.Request, names ...string) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values, unread: err}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case slices.Contains(names, name) && len(values[name]) > 1:
			q.refuse(name, "is given %d times", len(values[name]))
		case slices.Contains(names, name):
		case len(names) == 0:
			q.refuse(name, "unknown parameter: this route takes none")
		default:
			q.refuse(name, "unknown parameter; this route takes %s", strings.Join(names, ", "))
		}
	}
	return q
}

func (q *query) refuse(name, format string, args ...any) {
	q.bad = append(q.bad, document.Violate(name, q.values.Get(name), format, args...))
}

// queryKey of a request's context holds its query, read by its route's row.
const queryKey = "query"

// readingQuery reads the query of requests before they are answered.
func readingQuery(takes []declared, work gin.HandlerFunc) gin.HandlerFunc {
	names := namesOf(takes)
	return func(c *gin.Context) {
		c.Set(queryKey, readQuery(c.Request, names...))
		work(c)
	}
}

// queryOf is the query of a request, in which the parameters of its route's row are known.
func queryOf(c *gin.Context) *query { return c.MustGet(queryKey).(*query) }

// err is all that was refused.
func (q *query) err() error {
	switch {
	case q.unread != nil:
		return badRequest("bad_query", "the query is not encoded right: %v", q.unread)
	case len(q.bad) > 0:
		return &failure{status: http.StatusBadRequest, code: "bad_query", message: "the query: " + q.bad.Error(),
			fields: q.bad}
	}
	return nil
}
