// Package certificates creates certificate authorities and certificates for tests of TLS.
package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates. Its methods must be called from the test's goroutine.
type Authority struct {
	t testing.TB
	// PEM is the authority's own certificate, File a file with it.
	PEM  []byte
	File string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New creates an authority.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, key: newKey(t)}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of " + t.Name()}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign,
	}
	a.PEM = a.sign(a.cert, a.key)
	a.File = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(a.File, a.PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// Pool returns a pool that trusts only this authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.PEM)
	return pool
}

// Pair is a certificate and its key, in PEM form.
type Pair struct{ Cert, Key []byte }

// Issue creates a certificate for 127.0.0.1 and localhost with this validity period.
func (a *Authority) Issue(from, until time.Time) Pair {
	a.t.Helper()
	key := newKey(a.t)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		a.t.Fatal(err)
	}
	cert := a.sign(&x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "server"}, NotBefore: from, NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return Pair{Cert: cert, Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})}
}

// Good creates a certificate that is valid now and for hours.
func (a *Authority) Good() Pair {
	a.t.Helper()
	return a.Issue(time.Now().Add(-time.Hour), time.Now().Add(12*time.Hour))
}

// Write writes the pair to two files in an existing folder.
func (p Pair) Write(t testing.TB, dir string) (certFile, keyFile string) {
	t.Helper()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, content := range map[string][]byte{certFile: p.Cert, keyFile: p.Key} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func (a *Authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
