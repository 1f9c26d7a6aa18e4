// Package identity lets executors recognize their agent. An executor outlives its agent's process, and while the
// agent is down any program of the machine can listen at its port. So an executor speaks TLS with its agent and
// trusts only certificates of the agent's own authority, which it has in its environment from its start. Any
// other listener gets neither the executor's token nor its updates, and can't give it orders.
//
// The authority's key is derived from a secret that stays in the data folder. It is the same after every restart, so
// that running executors trust the agent that returns.
package identity

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"time"
)

// Identity is an agent's. It is made by New.
type Identity struct {
	authority string
	config    *tls.Config
}

// New makes the identity of the agent that is served at an address, from a secret that only the agent knows.
// Executors that have the authority of an identity with the same secret trust this one, too.
func New(secret []byte, ip net.IP) (*Identity, error) {
	seed, err := hkdf.Key(sha256.New, secret, nil, "authority of the agent's certificates", ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive the key of the agent's authority: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	authority, err := certificate(&x509.Certificate{
		Subject: pkix.Name{CommonName: "authority of a local agent"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}, nil, key.Public(), key)
	if err != nil {
		return nil, err
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the agent's key: %w", err)
	}
	own, err := certificate(&x509.Certificate{
		Subject: pkix.Name{CommonName: "local agent"}, IPAddresses: []net.IP{ip},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, authority, public, key)
	if err != nil {
		return nil, err
	}
	return &Identity{
		authority: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Raw})),
		config: &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{own.Raw}, PrivateKey: private, Leaf: own}},
			MinVersion:   tls.VersionTLS13,
		},
	}, nil
}

// certificate signs a certificate that never expires, because the clock of a machine may be far off. Without an
// issuer it is self-signed.
func certificate(template, issuer *x509.Certificate, public any, key ed25519.PrivateKey) (*x509.Certificate, error) {
	template.NotBefore, template.NotAfter = time.Unix(0, 0), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	if issuer == nil {
		issuer = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, public, key)
	if err != nil {
		return nil, fmt.Errorf("make the certificate of the %s: %w", template.Subject.CommonName, err)
	}
	return x509.ParseCertificate(der)
}

// Authority is the certificate, in PEM form, that executors are to check the agent's with. It is no secret.
func (i *Identity) Authority() string { return i.authority }

// Listener shows the certificate to all clients of l that speak TLS. Clients that speak plain HTTP are served, too:
// executors that an older release started, and the server itself, which has the port to itself as long as it runs.
func (i *Identity) Listener(l net.Listener) net.Listener { return &listener{l, i.config} }
