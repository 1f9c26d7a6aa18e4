package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
)

// failure is an error that knows its answer.
type failure struct {
	status  int
	code    string
	message string
	fields  document.Violations
	// retryAfter, if not 0, is sent in the header of that name.
	retryAfter time.Duration
	// undone is set when a change that the request may ask for was surely not begun, which its message then says.
	undone bool
	// cause, if not nil, is for the log alone.
	cause error
}

func (f *failure) Error() string {
	if f.cause != nil {
		return f.message + ": " + f.cause.Error()
	}
	return f.message
}

func failed(status int, code, format string, args ...any) *failure {
	return &failure{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

func badRequest(code, format string, args ...any) error {
	return failed(http.StatusBadRequest, code, format, args...)
}

func notFound(code, format string, args ...any) error {
	return failed(http.StatusNotFound, code, format, args...)
}

func unavailable(code, format string, args ...any) *failure {
	return failed(http.StatusServiceUnavailable, code, format, args...)
}

// notBegun is unavailable where a change that the request may ask for was surely not begun.
func notBegun(code, format string, args ...any) *failure {
	f := unavailable(code, format, args...)
	f.undone = true
	return f
}

// refusal is what the scheduler refused a request with, zero for any other error.
func refusal(err error) problem.Error {
	if refused := new(problem.Error); errors.As(err, &refused) {
		return *refused
	}
	return problem.Error{}
}

// kinds gives each kind of the scheduler's errors its status and, for an error
// without one, its code.
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

// asFailure says what an error is answered with, or nil for one that nobody
// foresaw.
func asFailure(r *http.Request, err error) *failure {
	var (
		known      *failure
		syntax     *document.SyntaxError
		violations document.Violations
		beyond     *http.MaxBytesError
		refused    *problem.Error
	)
	if f := refusedAccess(err); f != nil {
		err = f
	}
	switch {
	case errors.As(err, &known):
		if known.undone && !isRead(r.Method) {
			unchanged := *known
			unchanged.message = "this request changed nothing: " + known.message
			return &unchanged
		}
		return known
	case errors.As(err, &beyond):
		return asFailure(r, tooLarge(beyond.Limit))
	case errors.As(err, &syntax):
		return failed(http.StatusBadRequest, "bad_json", "%s", syntax)
	case errors.As(err, &violations):
		return asFailure(r, &failure{status: http.StatusUnprocessableEntity, code: "invalid",
			message: violations.Error(), fields: violations, undone: true})
	case errors.As(err, &refused):
		kind, ok := kinds[refused.Kind]
		if !ok {
			return nil
		}
		f := &failure{status: kind.status, code: kind.code, message: refused.Message, fields: refused.Violations,
			retryAfter: refused.RetryAfter}
		if refused.Code != "" && refused.Kind != problem.OutcomeUnknown {
			f.code = refused.Code
		}
		return f
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		if isRead(r.Method) {
			return unavailable("timeout", "the scheduler did not answer in time: try again")
		}
		return unavailable("outcome_unknown",
			"the scheduler did not answer in time, and the change may have been done: look before you send it again")
	}
	return nil
}

// isRead reports whether a method changes nothing.
func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// fail answers with an error. What nobody foresaw is logged under an id, and
// only the id is sent.
func fail(w http.ResponseWriter, r *http.Request, log *slog.Logger, err error) {
	f := asFailure(r, err)
	if f == nil {
		id := uuid.NewString()
		log.ErrorContext(r.Context(), "request failed", "id", id, "method", r.Method, "path", loggedPath(r), "error",
			err)
		f = internal(id)
	}
	if refused, ok := r.Context().Value(refusalKey{}).(**failure); ok {
		*refused = f
	}
	if f.status == http.StatusRequestEntityTooLarge {
		discardBody(w, r)
	}
	wait := f.retryAfter
	if f.status == http.StatusServiceUnavailable && f.code != "outcome_unknown" {
		wait = max(wait, time.Second)
	}
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
	if f.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="elasticjob"`)
	}
	writeJSON(w, f.status, f.body())
}

func internal(id string) *failure {
	return failed(http.StatusInternalServerError, "internal",
		"a fault of this server; its log tells more under the id %s", id)
}

type errorBody struct {
	Code    string              `json:"code"`
	Message string              `json:"message"`
	Fields  document.Violations `json:"fields"`
}

// refused is the form of all errors.
type refused struct {
	Error errorBody `json:"error"`
}

func (f *failure) body() refused {
	return refused{errorBody{f.code, f.message, orEmpty(f.fields)}}
}

// writeJSON sends v, one line, with a newline for people at a terminal.
func writeJSON(w http.ResponseWriter, status int, v any) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Errorf("encode an answer of type %T: %w", v, err))
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the client may have gone
}

// orEmpty makes a missing list "[]" in JSON.
func orEmpty[S ~[]E, E any](list S) S {
	if list == nil {
		return S{}
	}
	return list
}

// quoted is a client's text, fit for a message.
func quoted(text string) string {
	const most = 100
	if len(text) > most {
		return strconv.Quote(strings.ToValidUTF8(text[:most], "")) + "…" // without half a character at its end
	}
	return strconv.Quote(text)
}
