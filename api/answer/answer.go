// Package answer writes answers: JSON, lists row by row, failures in the one form that all have, and answers that last.
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

	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/google/uuid"
)

// Writer writes what requests are answered with.
type Writer struct {
	log *slog.Logger
	// stall is how long a client may take for one piece of an answer that comes bit by bit.
	stall    time.Duration
	compress func(http.Handler) http.HandlerFunc
}

// NewWriter gives clients of long answers so much time for each piece.
func NewWriter(log *slog.Logger, stall time.Duration) *Writer {
	return &Writer{log: log, stall: stall, compress: newCompressor()}
}

// Fail answers with an error. What nobody foresaw is logged under an id, and
// only the id is sent.
func (a *Writer) Fail(w http.ResponseWriter, r *http.Request, err error) {
	f := failure.Of(r, err)
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
	JSON(w, f.Status, f.Body())
}

// JSON sends v, one line, with a newline for people at a terminal.
func JSON(w http.ResponseWriter, status int, v any) {
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

// OrEmpty makes a missing list "[]" in JSON.
func OrEmpty[S ~[]E, E any](list S) S {
	if list == nil {
		return S{}
	}
	return list
}

// refusalKey of a request's context holds what it was refused with.
type refusalKey struct{}

// WithRefusal gives a context to a request, and its failure once it was answered with one.
func WithRefusal(ctx context.Context) (context.Context, func() *failure.Failure) {
	refused := new(*failure.Failure)
	return context.WithValue(ctx, refusalKey{}, refused), func() *failure.Failure { return *refused }
}

// tokens in a path are somebody's mistake; others must not find them in the log.
var inPath = regexp.MustCompile(`ej[tl]_[^/]*`)

// LoggedPath is a request's path as the log has it: without tokens, and not as long as whoever sends it likes. The
// query is in no log.
func LoggedPath(r *http.Request) string {
	path := inPath.ReplaceAllString(r.URL.Path, "******")
	return path[:min(len(path), maxLoggedPath)]
}

const maxLoggedPath = 300
