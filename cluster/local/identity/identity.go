// Package identity lets executors recognize their agent. An executor outlives its agent's process, and while the agent
// is down any program of the machine can listen at the agent's port. So an executor speaks TLS with its agent and
// trusts only certificates of the agent's own authority, whose certificate the executor has in its environment from
// its start. Any other listener gets neither the executor's token nor its updates, and cannot give it orders.
//
// The authority's key is derived from a secret that stays in the data folder. It is the same after every restart,
// so that running executors trust the agent that returns.
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

// Identity is the identity of one agent. Create it with New.
type Identity struct {
	authority string
	config    *tls.Config
}

// New creates the identity of the agent at an address, from a secret that only the agent knows. All identities from one
// secret have the same authority's key, so executors that trust one of them trust all.
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
		return nil, fmt.Errorf("create the agent's key: %w", err)
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

// certificate signs a certificate for a public key with the issuer's key. Without an issuer, the certificate is
// self-signed. It never expires, because the clock of a machine may be far off.
func certificate(template, issuer *x509.Certificate, public any, key ed25519.PrivateKey) (*x509.Certificate, error) {
	template.NotBefore, template.NotAfter = time.Unix(0, 0), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	if issuer == nil {
		issuer = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, public, key)
	if err != nil {
		return nil, fmt.Errorf("create the certificate of the %s: %w", template.Subject.CommonName, err)
	}
	return x509.ParseCertificate(der)
}

// Authority returns the CA certificate, in PEM form, with which executors verify the agent. It is not a secret.
func (i *Identity) Authority() string { return i.authority }

// Listener presents the certificate to all clients of l that speak TLS. It also serves clients that speak plain HTTP:
// executors that an older release started, and the server itself, which can trust the port because it has bound it.
func (i *Identity) Listener(l net.Listener) net.Listener { return &listener{l, i.config} }
