package admission

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/gin-gonic/gin"
)

// These headers go with a request that a follower forwards: its own address, so that no request goes round in circles,
// the client's, and a code that only servers of the cluster can make of both and of what is asked for.
const (
	ForwardedBy    = "X-Elasticjob-Forwarded-By"
	forwardedFor   = "X-Elasticjob-Forwarded-For"
	forwardedProof = "X-Elasticjob-Forwarded-Proof"
)

// Proofs make and check codes that only the servers of a cluster can make; *auth.Access has them.
type Proofs interface {
	// Sign makes the code of what, for a purpose; nil while the key is not known.
	Sign(purpose string, what []byte) []byte
	// Verify reports whether Sign made a code, in a time that reveals nothing about it.
	Verify(purpose string, what, code []byte) bool
}

// forwardPurpose is what the codes of forwarded requests are made for.
const forwardPurpose = "forward"

var errNoProof = failure.NotBegun("access_unknown",
	"the key by which followers prove themselves is not known here at present: try again")

// Proof is the headers that a request is forwarded with.
func (h *Admission) Proof(r *http.Request) (http.Header, error) {
	by, client := cmp.Or(h.Advertise, "unknown"), caller.Address(r)
	headers := http.Header{ForwardedBy: {by}}
	if h.Proofs == nil {
		return headers, nil
	}
	code := h.Proofs.Sign(forwardPurpose, forwarded(r, by, client))
	if code == nil {
		return nil, errNoProof
	}
	headers[forwardedFor], headers[forwardedProof] = []string{client}, []string{base64.StdEncoding.EncodeToString(code)}
	return headers, nil
}

// forwarded is what a follower signs of a request. None of the parts can hold the newlines between them.
func forwarded(r *http.Request, by, client string) []byte {
	return []byte(strings.Join([]string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, by, client}, "\n"))
}

// Proven takes what a follower says of a request that it forwards, or refuses the request of whoever pretends to be
// one.
func (h *Admission) Proven(c *gin.Context) {
	headers := c.Request.Header
	by, client, proof := headers.Values(ForwardedBy), headers.Values(forwardedFor), headers.Values(forwardedProof)
	if h.Proofs == nil || len(by)+len(client)+len(proof) == 0 {
		return
	}
	if err := h.checkProof(c.Request, by, client, proof); err != nil {
		h.Answers.Fail(c.Writer, c.Request, err)
		c.Abort()
		return
	}
	c.Request = c.Request.WithContext(caller.WithForwardedFor(c.Request.Context(), client[0]))
}

func (h *Admission) checkProof(r *http.Request, by, client, proof []string) error {
	forged := failure.New(http.StatusForbidden, "bad_forwarding",
		"the headers X-Elasticjob-Forwarded-… are for the servers of this cluster alone, and these are not of one: "+
			"leave them out. If a server of the cluster sent them, it has another registry (--zk, --zk-namespace, --registry) than the leader")
	if len(by) != 1 || len(client) != 1 || len(proof) != 1 {
		return forged
	}
	what := forwarded(r, by[0], client[0])
	code, err := base64.StdEncoding.DecodeString(proof[0])
	switch {
	case h.Proofs.Sign(forwardPurpose, what) == nil:
		return errNoProof
	case err != nil, !h.Proofs.Verify(forwardPurpose, what, code):
		return forged
	}
	return nil
}
