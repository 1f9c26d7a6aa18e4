package request

import (
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/api/failure"
)

// maxBody is the most that a request's body may hold, in bytes; openBody is that of a route that everybody may use,
// since a body is kept in memory until it is whole. It has room for a name and a password, however they are escaped.
const (
	maxBody  = 1 << 20
	openBody = 16 << 10
)

// These bound what is read of a body that is too large, and thrown away, before the answer.
const (
	discardMost = 64 << 20
	discardTime = 10 * time.Second
)

// boundedBody gives the first bytes of a body, at most maxBody, and then an error.
type boundedBody struct {
	io.ReadCloser
	whole io.ReadCloser
	begun bool
}

// BoundBody is the body of a request, of which at most 1 MiB can be read.
func BoundBody(w http.ResponseWriter, r *http.Request) io.ReadCloser {
	return &boundedBody{ReadCloser: http.MaxBytesReader(w, r.Body, maxBody), whole: r.Body}
}

// Bound bounds what is read of a request's body by its route, and refuses one that is said to be larger.
func Bound(w http.ResponseWriter, r *http.Request, open bool) error {
	most := int64(maxBody)
	if b, ok := r.Body.(*boundedBody); ok && open {
		most = openBody
		b.ReadCloser = http.MaxBytesReader(w, b.whole, most)
	}
	if r.ContentLength > most {
		return failure.TooLarge(most)
	}
	return nil
}

func (b *boundedBody) Read(p []byte) (int, error) {
	b.begun = true
	return b.ReadCloser.Read(p)
}

// DiscardBody takes what a client is still sending. Most clients read the answer only when they have sent all; were
// the connection closed before, they would find it reset and never see the answer. One that waits for 100 Continue has
// not sent anything.
func DiscardBody(w http.ResponseWriter, r *http.Request) {
	b, ok := r.Body.(*boundedBody)
	if !ok || r.ContentLength > discardMost || !b.begun && strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(discardTime)) // an error: the connection is gone
	_, _ = io.CopyN(io.Discard, b.whole, discardMost)
}
