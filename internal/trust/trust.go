// Package trust adds certificate authorities, such as a company's own, to those that this process trusts by default.
// They apply to every TLS connection that is verified by the system's authorities.
package trust

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Variable is the variable in an executor's environment with the certificates to add, in PEM form.
const Variable = "ELASTICJOB_CA_CERTIFICATES"

// MaxBytes is the maximum size of the certificates. Executors get them in a variable, which must be smaller than 128
// KiB.
const MaxBytes = 64 << 10

// Check returns the certificates of a PEM text without its comments, or an error if they can't be added.
func Check(text []byte) (string, error) {
	var certificates strings.Builder
	if _, err := x509.ParseCertificates(text); err == nil && len(text) > 0 {
		return "", errors.New("contains a certificate in DER form: convert it with openssl x509 -inform der -in FILE -out FILE.pem")
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // Windows' editors put a byte order mark in front
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return "", fmt.Errorf("contains a block of type %q: only certificates in PEM form may be in it", block.Type)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return "", fmt.Errorf("contains a certificate that can't be read: %w", err)
		}
		_ = pem.Encode(&certificates, &pem.Block{Type: block.Type, Bytes: block.Bytes}) // writes to memory
	}
	switch {
	case certificates.Len() == 0:
		return "", errors.New("contains no certificate in PEM form")
	case certificates.Len() > MaxBytes:
		return "", fmt.Errorf("contains more than %d KiB of certificates: name only your own authorities, which are added to the system's",
			MaxBytes>>10)
	}
	return certificates.String(), nil
}

// Add adds certificates in PEM form to the system's, for the whole process. It may be called once, before the first
// connection. The empty text adds nothing.
func Add(certificates string) error {
	if certificates == "" {
		return nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil { // the system has no authorities
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM([]byte(certificates)) {
		return errors.New("there is no certificate in PEM form")
	}
	// The library uses fallback roots instead of the system's only with this setting, which it reads during the call.
	const name = "GODEBUG"
	before, wasSet := os.LookupEnv(name)
	if err := os.Setenv(name, strings.TrimPrefix(before+",x509usefallbackroots=1", ",")); err != nil {
		return err
	}
	x509.SetFallbackRoots(pool)
	if wasSet {
		return os.Setenv(name, before)
	}
	return os.Unsetenv(name)
}
