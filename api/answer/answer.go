// Package answer writes answers: JSON, lists row by row, failures in one common form, and long-lasting answers.
package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/request"
)

// Writer writes the answers to requests.
type Writer struct {
	log *slog.Logger
	// stall is how long a client may take to read one piece of a streamed answer.
	stall    time.Duration
	compress func(http.Handler) http.HandlerFunc
}

// NewWriter returns a writer that logs to log. A client of a streamed answer may take up to stall to read each piece.
func NewWriter(log *slog.Logger, stall time.Duration) *Writer {
	return &Writer{log: log, stall: stall, compress: newCompressor()}
}

// Fail answers with an error. An unexpected error is logged under a new id, and the answer contains only that id.
func (a *Writer) Fail(w http.ResponseWriter, r *http.Request, err error) {
	a.FailWith(w, r, err, nil)
}

// FailWith is Fail with the media type and the body that form returns for the failure, JSON if form is nil.
func (a *Writer) FailWith(w http.ResponseWriter, r *http.Request, err error,
	form func(*failure.Failure) (media string, body []byte)) {
	f := failure.FromError(r, err)
	if f == nil {
		id := uuid.NewString()
		a.log.ErrorContext(r.Context(), "request failed", "id", id, "method", r.Method, "path", LoggedPath(r), "error",
			err)
		f = failure.Internal(id)
	}
	if refused, ok := r.Context().Value(refusalKey{}).(**failure.Failure); ok {
		*refused = f
	}
	if f.Status == http.StatusRequestEntityTooLarge {
		request.DiscardBody(w, r)
	}
	wait := f.RetryAfter
	if f.Status == http.StatusServiceUnavailable && f.Code != "outcome_unknown" {
		wait = max(wait, time.Second)
	}
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
	if f.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="elasticjob"`)
	}
	if form == nil {
		JSON(w, f.Status, f.Body())
		return
	}
	media, body := form(f)
	write(w, f.Status, media, body)
}

// JSON sends v as one line of JSON that ends with a newline, for people at a terminal.
func JSON(w http.ResponseWriter, status int, v any) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Errorf("encode an answer of type %T: %w", v, err))
	}
	write(w, status, "application/json; charset=utf-8", body.Bytes())
}

func write(w http.ResponseWriter, status int, media string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client has closed the connection
}

// OrEmpty returns an empty list for nil, so that JSON has [] and not null.
func OrEmpty[S ~[]E, E any](list S) S {
	if list == nil {
		return S{}
	}
	return list
}

// refusalKey is the key in a request's context of the failure that answered it.
type refusalKey struct{}

// WithRefusal returns a context for a request, and a function that returns the failure that the request was answered
// with, nil without one.
func WithRefusal(ctx context.Context) (context.Context, func() *failure.Failure) {
	refused := new(*failure.Failure)
	return context.WithValue(ctx, refusalKey{}, refused), func() *failure.Failure { return *refused }
}

// inPath matches tokens that a client has put into the path by mistake. They must not appear in the log, where others
// could read them.
var inPath = regexp.MustCompile(`ej[tl]_[^/]*`)

// LoggedPath returns a request's path as it may be logged: without tokens, and cut after maxLoggedPath bytes. The
// query is never logged.
func LoggedPath(r *http.Request) string {
	path := inPath.ReplaceAllString(r.URL.Path, "******")
	return path[:min(len(path), maxLoggedPath)]
}

const maxLoggedPath = 300
