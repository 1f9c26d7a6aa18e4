// Package mesostls is what a client of Mesos' masters and agents needs of TLS: the scheduler for
// both, the executor for its agent.
package mesostls

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// Config trusts the roots, the system's when nil, and offers what Mesos accepts.
func Config(roots *x509.CertPool) *tls.Config {
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, CipherSuites: suites()}
}

// suites are Go's own, and behind them two of LIBPROCESS_SSL_CIPHERS' default, which has none
// that Go offers by itself: a Mesos that leaves it alone would refuse every handshake.
func suites() []uint16 {
	var ids []uint16
	for _, s := range tls.CipherSuites() {
		ids = append(ids, s.ID)
	}
	return append(ids, tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA)
}

// Present makes a client show its certificate where it is asked for, as with
// LIBPROCESS_SSL_REQUIRE_CLIENT_CERT. The files are in PEM form and are read for
// each connection, so that they can be renewed.
func Present(config *tls.Config, certFile, keyFile string) {
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		return &pair, nil
	}
}

// Certificates are those of a PEM text, in PEM form and with nothing besides: no
// private key and no comment comes along.
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
