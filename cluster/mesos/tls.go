package mesos

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// LoadCA makes a TLS configuration, for Options.TLS and FilesOptions.TLS, that
// trusts the certificates in a PEM file, and no others: what Mesos has as
// LIBPROCESS_SSL_CA_FILE.
func LoadCA(path string) (*tls.Config, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("CA for Mesos: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("CA for Mesos: %s holds no certificate in PEM form", path)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}
