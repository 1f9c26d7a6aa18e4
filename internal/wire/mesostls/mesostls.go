// Package mesostls configures TLS for clients of Mesos: the scheduler for masters and agents, the executor for its
// agent.
package mesostls

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// Config returns a configuration that trusts the roots, or the system's roots if roots is nil. It offers cipher suites
// that Mesos accepts.
func Config(roots *x509.CertPool) *tls.Config {
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, CipherSuites: suites()}
}

// suites returns Go's own cipher suites and two of the default of LIBPROCESS_SSL_CIPHERS. That default contains none
// of Go's own, so that Mesos with the default would refuse every handshake.
func suites() []uint16 {
	var ids []uint16
	for _, s := range tls.CipherSuites() {
		ids = append(ids, s.ID)
	}
	return append(ids, tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA)
}

// Present makes a client present its certificate when the server requests one, as with
// LIBPROCESS_SSL_REQUIRE_CLIENT_CERT. The PEM files are read for each connection, so that they can be renewed.
func Present(config *tls.Config, certFile, keyFile string) {
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		return &pair, nil
	}
}

// Certificates returns only the certificates of a PEM text, in PEM form, without private keys and comments.
func Certificates(text []byte) ([]byte, error) {
	var out []byte
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type == "CERTIFICATE" {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no certificate in PEM form")
	}
	return out, nil
}
