package request

import (
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/api/failure"
)

const (
	// maxBody is the maximum size of a request's body, in bytes.
	maxBody = 1 << 20
	// maxOpenBody is the maximum size, in bytes, on routes that require no login. A body is kept in memory, so these
	// routes would otherwise let anyone fill the memory. A name and a password fit with any escaping.
	maxOpenBody = 16 << 10
)

// DiscardBody discards at most maxDiscard bytes, for at most discardTimeout.
const (
	maxDiscard     = 64 << 20
	discardTimeout = 10 * time.Second
)

// boundedBody is the body of a request with a limited size. Read returns an error beyond the limit.
type boundedBody struct {
	io.ReadCloser // the limited body
	unbounded     io.ReadCloser
	started       bool // Read was called
}

// BoundBody returns the body of a request, limited to maxBody.
func BoundBody(w http.ResponseWriter, r *http.Request) io.ReadCloser {
	return &boundedBody{ReadCloser: http.MaxBytesReader(w, r.Body, maxBody), unbounded: r.Body}
}

// Bound lowers the limit of a request's body to maxOpenBody if its route requires no login. The body must be that of
// BoundBody and must not have been read. Bound returns an error if the Content-Length already exceeds the limit.
func Bound(w http.ResponseWriter, r *http.Request, isOpen bool) error {
	limit := int64(maxBody)
	if b, ok := r.Body.(*boundedBody); ok && isOpen {
		limit = maxOpenBody
		b.ReadCloser = http.MaxBytesReader(w, b.unbounded, limit)
	}
	if r.ContentLength > limit {
		return failure.TooLarge(limit)
	}
	return nil
}

func (b *boundedBody) Read(p []byte) (int, error) {
	b.started = true
	return b.ReadCloser.Read(p)
}

// DiscardBody reads and discards the rest of a body, so that the client reads the answer. Most clients read it only
// after they have sent the whole body: if the server closed the connection earlier, they would see a reset instead.
// DiscardBody does nothing if the Content-Length exceeds maxDiscard, or if the client waits for 100 Continue and so
// has sent nothing.
func DiscardBody(w http.ResponseWriter, r *http.Request) {
	b, ok := r.Body.(*boundedBody)
	if !ok || r.ContentLength > maxDiscard || !b.started && strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(discardTimeout)) // fails if the client is gone
	_, _ = io.CopyN(io.Discard, b.unbounded, maxDiscard)
}
