package request

import (
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/api/failure"
)

// maxBody is the maximum size of a request's body, in bytes. openBody is the maximum on routes that need no login: a
// body is kept in memory until it is complete, so anyone could fill the memory. It leaves room for a name and a
// password with any escaping.
const (
	maxBody  = 1 << 20
	openBody = 16 << 10
)

// maxDiscard (bytes) and discardTime bound how much of a body that is too large is read and discarded before the
// answer.
const (
	maxDiscard  = 64 << 20
	discardTime = 10 * time.Second
)

// boundedBody reads at most maxBody bytes of a body and then returns an error.
type boundedBody struct {
	io.ReadCloser
	unbounded io.ReadCloser
	started   bool
}

// BoundBody returns the body of a request, limited to 1 MiB.
func BoundBody(w http.ResponseWriter, r *http.Request) io.ReadCloser {
	return &boundedBody{ReadCloser: http.MaxBytesReader(w, r.Body, maxBody), unbounded: r.Body}
}

// Bound sets the limit of a request's body by its route (open: a route that needs no login). It returns an error if
// the Content-Length already exceeds the limit.
func Bound(w http.ResponseWriter, r *http.Request, open bool) error {
	limit := int64(maxBody)
	if b, ok := r.Body.(*boundedBody); ok && open {
		limit = openBody
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

// DiscardBody reads and discards the body that a client is still sending. Most clients read the answer only after they
// have sent everything; if the server closed the connection before, they would see a reset and never the answer. A
// client that waits for 100 Continue has sent nothing, so nothing is read from it.
func DiscardBody(w http.ResponseWriter, r *http.Request) {
	b, ok := r.Body.(*boundedBody)
	if !ok || r.ContentLength > maxDiscard || !b.started && strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(discardTime)) // fails if the client is gone
	_, _ = io.CopyN(io.Discard, b.unbounded, maxDiscard)
}
