// Package answer writes answers: JSON, lists row by row, failures in one common form, and streamed answers.
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
	// stallTimeout is how long a client may take to read one piece of a streamed answer.
	stallTimeout time.Duration
	compress     func(http.Handler) http.HandlerFunc
}

// NewWriter returns a writer that logs to log. A client of a streamed answer may take up to stallTimeout to read a
// piece.
func NewWriter(log *slog.Logger, stallTimeout time.Duration) *Writer {
	return &Writer{log: log, stallTimeout: stallTimeout, compress: newCompressor()}
}

// Fail answers with an error. If the error is unexpected, Fail logs it under a new id, and the answer contains only
// that id.
func (a *Writer) Fail(w http.ResponseWriter, r *http.Request, err error) {
	a.FailWith(w, r, err, nil)
}

// FailWith is Fail in another form than JSON: format returns the media type and the body for a failure. If format is
// nil, the form is JSON.
func (a *Writer) FailWith(w http.ResponseWriter, r *http.Request, err error,
	format func(*failure.Failure) (media string, body []byte)) {
	f := failure.FromError(r, err)
	if f == nil {
		id := uuid.NewString()
		a.log.ErrorContext(r.Context(), "request failed", "id", id, "method", r.Method, "path", LoggedPath(r),
			"error", err)
		f = failure.Internal(id)
	}
	if recorded, ok := r.Context().Value(failureKey{}).(**failure.Failure); ok {
		*recorded = f
	}
	if f.Status == http.StatusRequestEntityTooLarge {
		request.DiscardBody(w, r)
	}
	retryAfter := f.RetryAfter
	if f.Status == http.StatusServiceUnavailable && f.Code != "outcome_unknown" {
		retryAfter = max(retryAfter, time.Second)
	}
	if retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(retryAfter.Seconds()))))
	}
	if f.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="elasticjob"`)
	}
	if format == nil {
		JSON(w, f.Status, f.Body())
		return
	}
	media, body := format(f)
	write(w, f.Status, media, body)
}

// JSON sends v as one line of JSON. The line ends with a newline, so that it reads well on a terminal.
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

// OrEmpty returns the list, or an empty list for nil, so that JSON has [] and not null.
func OrEmpty[S ~[]E, E any](list S) S {
	if list == nil {
		return S{}
	}
	return list
}

// failureKey is the key of a **failure.Failure in a request's context, in which FailWith records the failure.
type failureKey struct{}

// WithFailureRecorder returns a context for a request, and a function that returns the failure with which Fail or
// FailWith has answered the request. The function returns nil if the request has not failed.
func WithFailureRecorder(ctx context.Context) (context.Context, func() *failure.Failure) {
	recorded := new(*failure.Failure)
	return context.WithValue(ctx, failureKey{}, recorded), func() *failure.Failure { return *recorded }
}

// tokenInPath matches a token that a client has put into the path by mistake. It must not appear in the log, where
// others could read it.
var tokenInPath = regexp.MustCompile(`ej[tl]_[^/]*`)

// LoggedPath returns a request's path in the form that may be logged: tokens are hidden, and the path is cut after
// maxLoggedPath bytes. A query must never be logged.
func LoggedPath(r *http.Request) string {
	path := tokenInPath.ReplaceAllString(r.URL.Path, "******")
	return path[:min(len(path), maxLoggedPath)]
}

const maxLoggedPath = 300
