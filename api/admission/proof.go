package admission

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
)

// These are the headers of a forwarded request.
const (
	// ForwardedBy is the address of the follower. A request that has it is not forwarded again.
	ForwardedBy = "X-Elasticjob-Forwarded-By"
	// forwardedFor is the address of the client.
	forwardedFor = "X-Elasticjob-Forwarded-For"
	// forwardedProof is a signature of the request and both addresses, which only servers of the cluster can make.
	forwardedProof = "X-Elasticjob-Forwarded-Proof"
)

// Proofs makes and verifies signatures that only the servers of a cluster can make; *auth.Access implements it.
type Proofs interface {
	// Sign returns the signature of a message, valid for one purpose. It returns nil while the key is not known.
	Sign(purpose string, message []byte) []byte
	// Verify reports whether Sign made the signature for this purpose. It takes constant time.
	Verify(purpose string, message, signature []byte) bool
}

// forwardPurpose is the purpose of the signatures of forwarded requests.
const forwardPurpose = "forward"

var errNoProof = failure.Unchanged("access_unknown",
	"the key with which servers sign forwarded requests is not known yet: try again")

// ForwardHeaders returns the headers for forwarding a request. It returns an error while the key is not known.
func (h *Admission) ForwardHeaders(r *http.Request) (http.Header, error) {
	by, client := cmp.Or(h.Advertise, "unknown"), caller.Address(r)
	headers := http.Header{ForwardedBy: {by}}
	if h.Proofs == nil {
		return headers, nil
	}
	signature := h.Proofs.Sign(forwardPurpose, signedMessage(r, by, client))
	if signature == nil {
		return nil, errNoProof
	}
	headers[forwardedFor] = []string{client}
	headers[forwardedProof] = []string{base64.StdEncoding.EncodeToString(signature)}
	return headers, nil
}

// signedMessage returns the message that a follower signs for a request. Two requests never have the same message,
// because none of its lines can contain a newline.
func signedMessage(r *http.Request, by, client string) []byte {
	return []byte(strings.Join([]string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, by, client}, "\n"))
}

// VerifyForwarded checks the headers of a forwarded request. If they are valid, it records the client's address in the
// context; otherwise it answers the request with an error and aborts it. It does nothing for a request without these
// headers.
func (h *Admission) VerifyForwarded(c *gin.Context) {
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
		"the headers X-Elasticjob-Forwarded-… may be sent only by servers of this cluster, and these were not: leave them out. If a server of the cluster sent them, it has another registry (--zk, --zk-namespace, --registry) than the leader")
	if len(by) != 1 || len(client) != 1 || len(proof) != 1 {
		return forged
	}
	message := signedMessage(r, by[0], client[0])
	signature, err := base64.StdEncoding.DecodeString(proof[0])
	switch {
	case h.Proofs.Sign(forwardPurpose, message) == nil:
		return errNoProof
	case err != nil, !h.Proofs.Verify(forwardPurpose, message, signature):
		return forged
	}
	return nil
}
