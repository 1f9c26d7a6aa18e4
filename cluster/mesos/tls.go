package mesos

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/elasticjob-go/elasticjob/internal/wire/mesostls"
)

// TLSFiles are the paths of PEM files for a cluster with TLS.
type TLSFiles struct {
	// CA is required. It is the file that Mesos has as LIBPROCESS_SSL_CA_FILE.
	CA string
	// Cert and Key hold the scheduler's client certificate, for a cluster with LIBPROCESS_SSL_REQUIRE_CLIENT_CERT. Set
	// both or neither. The files are read for each connection.
	Cert, Key string
}

// LoadTLS returns a TLS configuration for Options.TLS that trusts only the certificates in CA.
func LoadTLS(files TLSFiles) (*tls.Config, error) {
	pem, err := os.ReadFile(files.CA)
	if err != nil {
		return nil, fmt.Errorf("CA for Mesos: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("CA for Mesos: %s contains no certificate in PEM form", files.CA)
	}
	config := mesostls.Config(pool)
	if files.Cert != "" || files.Key != "" {
		if _, err := tls.LoadX509KeyPair(files.Cert, files.Key); err != nil {
			return nil, fmt.Errorf("client certificate for Mesos: %w", err)
		}
		mesostls.Present(config, files.Cert, files.Key)
	}
	return config, nil
}
