package kubernetesserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// pair is the only certificate of a Kubernetes with its key. All servers and the test's clients present it. The API
// regards everyone who presents it as an administrator. The key also signs the tokens of service accounts.
type pair struct {
	cert, key string // files; the certificate is self-signed and is its own authority
	config    *tls.Config
}

func newPair(dir string) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		NotBefore: now.Add(-24 * time.Hour),
		NotAfter:  now.Add(10 * 24 * time.Hour), // tests may run with another clock
		IsCA:      true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)},
		DNSNames:    []string{"localhost", "kubernetes.default.svc", "node1", "node2", "node3", "node4"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return pair{}, fmt.Errorf("make a certificate: %w", err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return pair{}, err
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
	p := pair{cert: filepath.Join(dir, "tls.crt"), key: filepath.Join(dir, "tls.key")}
	own, failed := tls.X509KeyPair(certPEM, keyPEM)
	if err := errors.Join(failed, os.WriteFile(p.cert, certPEM, 0o644),
		os.WriteFile(p.key, keyPEM, 0o600)); err != nil {
		return pair{}, fmt.Errorf("make a certificate: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	p.config = &tls.Config{Certificates: []tls.Certificate{own}, RootCAs: pool, MinVersion: tls.VersionTLS12}
	return p, nil
}
