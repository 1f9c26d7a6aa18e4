package api

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/gin-gonic/gin"
)

// These headers go with a request that a follower forwards: its own address, so that no request goes round in circles,
// the client's, and a code that only servers of the cluster can make of both and of what is asked for.
const (
	forwardedBy    = "X-Elasticjob-Forwarded-By"
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

// proof is the headers that a request is forwarded with.
func (s *Server) proof(r *http.Request) (http.Header, error) {
	by, client := cmp.Or(s.opts.Advertise, "unknown"), caller.Address(r)
	h := http.Header{forwardedBy: {by}}
	if s.opts.Proofs == nil {
		return h, nil
	}
	code := s.opts.Proofs.Sign(forwardPurpose, forwarded(r, by, client))
	if code == nil {
		return nil, errNoProof
	}
	h[forwardedFor], h[forwardedProof] = []string{client}, []string{base64.StdEncoding.EncodeToString(code)}
	return h, nil
}

// forwarded is what a follower signs of a request. None of the parts can hold the newlines between them.
func forwarded(r *http.Request, by, client string) []byte {
	return []byte(strings.Join([]string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, by, client}, "\n"))
}

// proven takes what a follower says of a request that it forwards, or refuses the request of whoever pretends to be
// one.
func (s *Server) proven(c *gin.Context) {
	h := c.Request.Header
	by, client, proof := h.Values(forwardedBy), h.Values(forwardedFor), h.Values(forwardedProof)
	if s.opts.Proofs == nil || len(by)+len(client)+len(proof) == 0 {
		return
	}
	if err := s.checkProof(c.Request, by, client, proof); err != nil {
		s.answers.Fail(c.Writer, c.Request, err)
		c.Abort()
		return
	}
	c.Request = c.Request.WithContext(caller.WithForwardedFor(c.Request.Context(), client[0]))
}

func (s *Server) checkProof(r *http.Request, by, client, proof []string) error {
	forged := failure.New(http.StatusForbidden, "bad_forwarding",
		"the headers X-Elasticjob-Forwarded-… are for the servers of this cluster alone, and these are not of one: "+
			"leave them out. If a server of the cluster sent them, it has another registry (--zk, --zk-namespace, --registry) than the leader")
	if len(by) != 1 || len(client) != 1 || len(proof) != 1 {
		return forged
	}
	what := forwarded(r, by[0], client[0])
	code, err := base64.StdEncoding.DecodeString(proof[0])
	switch {
	case s.opts.Proofs.Sign(forwardPurpose, what) == nil:
		return errNoProof
	case err != nil, !s.opts.Proofs.Verify(forwardPurpose, what, code):
		return forged
	}
	return nil
}

// speaksTLS is that the leader speaks TLS and this server does not, if its answer says so: the answer of Go's server
// to what it can't read.
func (p *forwarding) speaksTLS(answer *http.Response) error {
	if answer.StatusCode != http.StatusBadRequest || answer.ProtoMajor != 1 || answer.ProtoMinor != 0 ||
		p.server.opts.TLS != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	answer.Body = io.NopCloser(bytes.NewReader(text))
	if err != nil || !bytes.Contains(text, []byte("HTTPS")) {
		return nil
	}
	p.server.log.Error("the leader speaks TLS, this server does not: give all servers --tls-cert and --tls-key",
		"leader", p.address)
	return failure.NotBegun("tls_differs", "the leader at %s speaks TLS, and this server does not: give all servers of the cluster --tls-cert and --tls-key, or none", p.address)
}

// refusedTLS is what an error of a connection to the leader means for TLS between the two, if anything.
func (p *forwarding) refusedTLS(err error) error {
	var plain tls.RecordHeaderError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &plain):
		p.server.log.Error("the leader speaks no TLS, this server does: give all servers --tls-cert and --tls-key",
			"leader", p.address)
		return failure.NotBegun("tls_differs", "the leader at %s speaks no TLS, and this server does: give all servers of the cluster --tls-cert and --tls-key, or none", p.address)
	case errors.As(err, &untrusted):
		p.server.log.Error("the leader's certificate is not trusted: nothing is forwarded", "leader", p.address,
			"error", err)
		return failure.NotBegun("leader_not_trusted", "this server does not trust the certificate of the leader at %s: "+
			"give all servers --tls-ca with the certificate of who signed it, and see that it is for the host of the leader's --advertise (%v)", p.address, untrusted.Err)
	}
	return nil
}
