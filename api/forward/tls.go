package forward

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net/http"

	"github.com/elasticjob-go/elasticjob/api/failure"
)

// checkLeaderSpeaksPlain returns an error if the leader uses TLS and this server does not. It recognizes how Go's
// server for TLS answers a plain request: with HTTP/1.0, status 400 and a text about HTTPS.
func (a *attempt) checkLeaderSpeaksPlain(response *http.Response) error {
	isHTTP10 := response.ProtoMajor == 1 && response.ProtoMinor == 0
	if a.forwarder.TLS != nil || response.StatusCode != http.StatusBadRequest || !isHTTP10 {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	response.Body = io.NopCloser(bytes.NewReader(text))
	if err != nil || !bytes.Contains(text, []byte("HTTPS")) {
		return nil
	}
	a.forwarder.Log.Error("the leader speaks TLS, this server does not: give all servers --tls-cert and --tls-key",
		"leader", a.address)
	return failure.Unchanged("tls_differs",
		"the leader at %s speaks TLS, and this server does not: give all servers of the cluster --tls-cert and --tls-key, or none",
		a.address)
}

// tlsFailure returns an error if the connection to the leader failed because of the TLS settings of the two servers.
// It returns nil if the connection failed for another reason.
func (a *attempt) tlsFailure(err error) error {
	var plain tls.RecordHeaderError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &plain):
		a.forwarder.Log.Error("the leader does not speak TLS, this server does: give all servers --tls-cert and --tls-key",
			"leader", a.address)
		return failure.Unchanged("tls_differs",
			"the leader at %s does not speak TLS, and this server does: give all servers of the cluster --tls-cert and --tls-key, or none",
			a.address)
	case errors.As(err, &untrusted):
		a.forwarder.Log.Error("the leader's certificate is not trusted: nothing is forwarded", "leader", a.address,
			"error", err)
		return failure.Unchanged("leader_not_trusted",
			"this server does not trust the certificate of the leader at %s: "+
				"give all servers --tls-ca with its issuer's certificate, and check that it is for the host of the leader's --advertise (%v)",
			a.address, untrusted.Err)
	}
	return nil
}
