// Package failure defines the errors of the API. Each has an HTTP status, a code for programs and a sentence for
// users. FromError converts the errors of the scheduler, of documents and of access control into such errors.
package failure

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
)

// Failure is an error from which the answer to the client is built.
type Failure struct {
	Status  int
	Code    string
	Message string
	Fields  document.Violations
	// RetryAfter is the delay in the header Retry-After. If it is 0, an answer with status 503 says 1 s, unless its
	// code is outcome_unknown. Other answers then lack the header.
	RetryAfter time.Duration
	// Undone is set if the request has certainly changed nothing. The answer to a write then says so.
	Undone bool
	// Cause appears only in the log, never in the answer. It may be nil.
	Cause error
}

// Error returns the message and the cause, for the log.
func (f *Failure) Error() string {
	if f.Cause != nil {
		return f.Message + ": " + f.Cause.Error()
	}
	return f.Message
}

// New returns a failure whose message is formatted as by fmt.Sprintf.
func New(status int, code, format string, args ...any) *Failure {
	return &Failure{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// BadRequest returns a failure for a request that cannot be read (400).
func BadRequest(code, format string, args ...any) error {
	return New(http.StatusBadRequest, code, format, args...)
}

// NotFound returns a failure for a request about an object that does not exist (404).
func NotFound(code, format string, args ...any) error {
	return New(http.StatusNotFound, code, format, args...)
}

// Unavailable returns a failure for a request that cannot be answered now (503).
func Unavailable(code, format string, args ...any) *Failure {
	return New(http.StatusServiceUnavailable, code, format, args...)
}

// Unchanged is Unavailable with Undone set.
func Unchanged(code, format string, args ...any) *Failure {
	f := Unavailable(code, format, args...)
	f.Undone = true
	return f
}

// Refusal returns the scheduler's refusal that err wraps, or the zero value if err is any other error.
func Refusal(err error) problem.Error {
	if refusal := new(problem.Error); errors.As(err, &refusal) {
		return *refusal
	}
	return problem.Error{}
}

// kinds maps each kind of the scheduler's errors to a status and to the code for errors without a code of their own.
var kinds = map[problem.Kind]struct {
	status int
	code   string
}{
	problem.NotFound:       {http.StatusNotFound, "not_found"},
	problem.Conflict:       {http.StatusConflict, "conflict"},
	problem.Invalid:        {http.StatusUnprocessableEntity, "invalid"},
	problem.Unavailable:    {http.StatusServiceUnavailable, "unavailable"},
	problem.OutcomeUnknown: {http.StatusServiceUnavailable, "outcome_unknown"},
	problem.LogGone:        {http.StatusGone, "log_gone"},
	problem.Forbidden:      {http.StatusForbidden, "not_allowed"},
	problem.TooSoon:        {http.StatusTooManyRequests, "too_soon"},
}

// FromError converts the error of a request into a failure. It returns nil for an unexpected error, which is a fault
// of this server.
func FromError(r *http.Request, err error) *Failure {
	var (
		known      *Failure
		syntax     *document.SyntaxError
		violations document.Violations
		tooLarge   *http.MaxBytesError
		refusal    *problem.Error
	)
	if f := FromAccessError(err); f != nil {
		err = f
	}
	switch {
	case errors.As(err, &known):
		if known.Undone && !IsRead(r.Method) {
			unchanged := *known
			unchanged.Message = "this request changed nothing: " + known.Message
			return &unchanged
		}
		return known
	case errors.As(err, &tooLarge):
		return FromError(r, TooLarge(tooLarge.Limit))
	case errors.As(err, &syntax):
		return New(http.StatusBadRequest, "bad_json", "%s", syntax)
	case errors.As(err, &violations):
		return FromError(r, &Failure{Status: http.StatusUnprocessableEntity, Code: "invalid",
			Message: violations.Error(), Fields: violations, Undone: true})
	case errors.As(err, &refusal):
		kind, ok := kinds[refusal.Kind]
		if !ok {
			return nil
		}
		f := &Failure{Status: kind.status, Code: kind.code, Message: refusal.Message, Fields: refusal.Violations,
			RetryAfter: refusal.RetryAfter}
		if refusal.Code != "" && refusal.Kind != problem.OutcomeUnknown {
			f.Code = refusal.Code
		}
		return f
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		if IsRead(r.Method) {
			return Unavailable("timeout", "the scheduler did not answer in time: try again")
		}
		return Unavailable("outcome_unknown",
			"the scheduler did not answer in time, and the change may have been done: check before you send it again")
	}
	return nil
}

// WantsPage reports whether the client of a request is a browser that shows the answer as a page. Only browsers accept
// text/html explicitly.
func WantsPage(r *http.Request) bool {
	if !IsRead(r.Method) {
		return false
	}
	for accepted := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		if media, _, err := mime.ParseMediaType(accepted); err == nil && media == "text/html" {
			return true
		}
	}
	return false
}

// IsRead reports whether requests with this method change nothing.
func IsRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// Internal returns the failure for a fault of this server. The caller must log the error under the id.
func Internal(id string) *Failure {
	return New(http.StatusInternalServerError, "internal",
		"a fault of this server; its log has details under the id %s", id)
}

// ErrorBody has the fields of a failure in JSON.
type ErrorBody struct {
	Code    string              `json:"code"`
	Message string              `json:"message"`
	Fields  document.Violations `json:"fields"`
}

// Response is the JSON body of every error.
type Response struct {
	Error ErrorBody `json:"error"`
}

// Body returns the failure's JSON body.
func (f *Failure) Body() Response {
	return Response{ErrorBody{f.Code, f.Message, append(document.Violations{}, f.Fields...)}}
}

// Quoted returns a client's text in a form for messages: quoted, and cut after 100 bytes.
func Quoted(text string) string {
	const limit = 100
	if len(text) > limit {
		return strconv.Quote(strings.ToValidUTF8(text[:limit], "")) + "…" // without a character cut in half
	}
	return strconv.Quote(text)
}

// FromAccessError converts an error of auth.Access into a failure. It returns nil for any other error.
func FromAccessError(err error) *Failure {
	var refused *auth.Refused
	var throttled *auth.TooMany
	switch {
	case errors.As(err, &refused):
		return New(http.StatusUnauthorized, refused.Code, "%s", refused.Why)
	case errors.As(err, &throttled):
		f := New(http.StatusTooManyRequests, "too_many_logins", "%s", throttled.Error())
		f.RetryAfter = throttled.RetryAfter
		return f
	case errors.Is(err, auth.ErrUnavailable):
		return ErrAccessUnknown
	case errors.Is(err, auth.ErrFull):
		return New(http.StatusConflict, "access_full", "%s", err.Error())
	}
	return nil
}

// TooLarge returns the failure for a body that exceeds the limit, in bytes.
func TooLarge(limit int64) *Failure {
	size := "1 MiB"
	if limit < 1<<20 {
		size = fmt.Sprintf("%d KiB", limit>>10)
	}
	return &Failure{Status: http.StatusRequestEntityTooLarge, Code: "body_too_large",
		Message: fmt.Sprintf("the body is larger than the limit of %s", size), Undone: true}
}

// ErrAccessUnknown is the failure while this server cannot read the users and their grants from the registry.
var ErrAccessUnknown = Unchanged("access_unknown",
	"users and grants cannot be read from the registry: try again; if that lasts, check the registry")
