package api

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// maxBody is the most that a request's body may hold, in bytes.
const maxBody = 1 << 20

// These bound what is read of a body that is too large, and thrown away, before the answer.
const (
	discardMost = 64 << 20
	discardTime = 10 * time.Second
)

var errTooLarge = &failure{status: http.StatusRequestEntityTooLarge, code: "body_too_large",
	message: "the body is larger than 1 MiB, the most that is read", undone: true}

// boundedBody gives the first maxBody bytes of a body, and then an error.
type boundedBody struct {
	io.ReadCloser
	whole io.Reader
	begun bool
}

func boundBody(w http.ResponseWriter, r *http.Request) io.ReadCloser {
	return &boundedBody{ReadCloser: http.MaxBytesReader(w, r.Body, maxBody), whole: r.Body}
}

func (b *boundedBody) Read(p []byte) (int, error) {
	b.begun = true
	return b.ReadCloser.Read(p)
}

// discardBody takes what a client is still sending. Most clients read the answer only when they have sent all; were the
// connection closed before, they would find it reset and never see the answer. One that waits for 100 Continue has not
// sent anything.
func discardBody(w http.ResponseWriter, r *http.Request) {
	b, ok := r.Body.(*boundedBody)
	if !ok || r.ContentLength > discardMost || !b.begun && strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(discardTime)) // an error: the connection is gone
	_, _ = io.CopyN(io.Discard, b.whole, discardMost)
}
