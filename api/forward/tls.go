package forward

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net/http"

	"github.com/elasticjob-go/elasticjob/api/failure"
)

// speaksTLS returns an error if the leader uses TLS and this server does not. It recognizes the answer of Go's server
// to a plain HTTP request.
func (p *attempt) speaksTLS(answer *http.Response) error {
	if answer.StatusCode != http.StatusBadRequest || answer.ProtoMajor != 1 || answer.ProtoMinor != 0 ||
		p.server.TLS != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	answer.Body = io.NopCloser(bytes.NewReader(text))
	if err != nil || !bytes.Contains(text, []byte("HTTPS")) {
		return nil
	}
	p.server.Log.Error("the leader speaks TLS, this server does not: give all servers --tls-cert and --tls-key",
		"leader", p.address)
	return failure.Unchanged("tls_differs", "the leader at %s speaks TLS, and this server does not: give all servers of the cluster --tls-cert and --tls-key, or none", p.address)
}

// refusedTLS returns an error if the connection to the leader failed because of the TLS settings of the two servers,
// nil if it failed for another reason.
func (p *attempt) refusedTLS(err error) error {
	var plain tls.RecordHeaderError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &plain):
		p.server.Log.Error("the leader does not speak TLS, this server does: give all servers --tls-cert and --tls-key",
			"leader", p.address)
		return failure.Unchanged("tls_differs", "the leader at %s does not speak TLS, and this server does: give all servers of the cluster --tls-cert and --tls-key, or none", p.address)
	case errors.As(err, &untrusted):
		p.server.Log.Error("the leader's certificate is not trusted: nothing is forwarded", "leader", p.address,
			"error", err)
		return failure.Unchanged("leader_not_trusted", "this server does not trust the certificate of the leader at %s: "+
			"give all servers --tls-ca with its issuer's certificate, and check that it is for the host of the leader's --advertise (%v)", p.address, untrusted.Err)
	}
	return nil
}
