package mesos

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/elasticjob-go/elasticjob/internal/wire/mesostls"
)

// TLSFiles are where the certificates for a cluster with TLS are, in PEM form.
type TLSFiles struct {
	// CA is required: what Mesos has as LIBPROCESS_SSL_CA_FILE.
	CA string
	// Cert and Key are who we are, for a cluster with LIBPROCESS_SSL_REQUIRE_CLIENT_CERT: both or none. They are
	// read for each connection.
	Cert, Key string
}

// LoadTLS makes a TLS configuration, for Options.TLS, that
// trusts the certificates in CA and no others.
func LoadTLS(files TLSFiles) (*tls.Config, error) {
	pem, err := os.ReadFile(files.CA)
	if err != nil {
		return nil, fmt.Errorf("CA for Mesos: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("CA for Mesos: %s holds no certificate in PEM form", files.CA)
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
