package certificate

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Files are the paths of a server's TLS files, all in PEM form.
type Files struct {
	// Cert has the certificate and its chain. Key has the private key; no one but its owner may have permissions for
	// this file.
	Cert, Key string
	// CA has the certificates that are trusted for the leader, in addition to the system's. If CA is "", the
	// certificates in Cert are trusted instead.
	CA string
}

// maxBytes is the maximum size of a file. A larger file cannot be a certificate or a key.
const maxBytes = 1 << 20

// contents has the contents of the files at one time.
type contents struct{ cert, key, ca []byte }

func (c contents) equal(d contents) bool {
	return bytes.Equal(c.cert, d.cert) && bytes.Equal(c.key, d.key) && bytes.Equal(c.ca, d.ca)
}

// read reads all files. Its error never contains any of the contents.
func (f Files) read() (c contents, err error) {
	var errs [3]error
	c.cert, errs[0] = readFile(f.Cert, 0)
	c.key, errs[1] = readFile(f.Key, 0o077)
	if f.CA != "" {
		c.ca, errs[2] = readFile(f.CA, 0)
	}
	return c, errors.Join(errs[:]...)
}

// readFile reads a regular file. It returns an error if the file is too large or has any of the forbidden permission
// bits.
func readFile(path string, forbidden os.FileMode) ([]byte, error) {
	info, err := os.Stat(path) // before the file is opened, because opening a pipe blocks until there is a writer
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	if info, err = file.Stat(); err != nil {
		return nil, err
	}
	if info.Mode().Perm()&forbidden != 0 {
		return nil, fmt.Errorf("others can read %s (mode %s), which holds a private key: chmod 600 it", path,
			info.Mode().Perm())
	}
	text, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err == nil && len(text) > maxBytes {
		err = fmt.Errorf("%s has more than %d bytes, too many for a certificate or a key", path, maxBytes)
	}
	return text, err
}

// pair is a certificate with its key, and the trusted certificates. It is immutable.
type pair struct {
	certificate tls.Certificate
	roots       *x509.CertPool
}

// parse checks the contents of the files and returns the pair. It does not check the validity period.
func (f Files) parse(c contents) (*pair, error) {
	certificate, err := tls.X509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s are not a certificate and its key: %w", f.Cert, f.Key, err)
	}
	if err := checkPEM(c.cert); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Cert, err)
	}
	roots, err := f.roots(c)
	if err != nil {
		return nil, err
	}
	return &pair{certificate: certificate, roots: roots}, nil
}

// Roots returns the trusted certificates for clients of servers that use these files, including the system's. It does
// not read the key.
func (f Files) Roots() (*x509.CertPool, error) {
	path := cmp.Or(f.CA, f.Cert)
	text, err := readFile(path, 0)
	if err != nil {
		return nil, err
	}
	return f.roots(contents{cert: text, ca: text})
}

func (f Files) roots(c contents) (*x509.CertPool, error) {
	// If the system's certificates cannot be read, those of the files are still trusted.
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	trusted, path := c.cert, f.Cert
	if f.CA != "" {
		trusted, path = c.ca, f.CA
	}
	if err := checkPEM(trusted); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if !roots.AppendCertsFromPEM(trusted) {
		return nil, fmt.Errorf("%s holds no certificate in PEM form", path)
	}
	return roots, nil
}

// checkPEM returns an error if a certificate in the text is truncated or damaged. Without this check, the library
// would skip such a certificate silently, and clients would lack a part of the chain.
func checkPEM(text []byte) error {
	begun := bytes.Count(text, []byte("-----BEGIN CERTIFICATE-----"))
	read := 0
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("its certificate %d can't be read: %w", read+1, err)
		}
		read++
	}
	if read < begun {
		return fmt.Errorf("%d of its %d certificates are cut off", begun-read, begun)
	}
	return nil
}

func (p *pair) notAfter() time.Time { return p.certificate.Leaf.NotAfter }

// checkValidity returns an error if the certificate has expired or is not valid yet.
func (p *pair) checkValidity(path string, now time.Time) error {
	switch leaf := p.certificate.Leaf; {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("the certificate of %s expired at %s", path, leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("the certificate of %s is not valid before %s", path,
			leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

// expiresSoon returns an error if the certificate should have been renewed by now: a tenth of its lifetime or less is
// left, and also two weeks or less.
func (p *pair) expiresSoon(path string, now time.Time) error {
	leaf := p.certificate.Leaf
	renewalTime := min(leaf.NotAfter.Sub(leaf.NotBefore)/10, 14*24*time.Hour)
	if now.Before(leaf.NotAfter.Add(-renewalTime)) {
		return nil
	}
	return fmt.Errorf("the certificate of %s expires at %s: renew it", path, leaf.NotAfter.UTC().Format(time.RFC3339))
}
