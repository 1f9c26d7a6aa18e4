package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wire/mesostls"
)

// The scheduler sets these variables in the ExecutorInfo if it knows that the cluster's agents use TLS.
const (
	// CAVariable holds the CA certificates, as PEM, by which the agent's certificate is verified, or SystemCA.
	CAVariable = "ELASTICJOB_MESOS_CA"
	// SystemCA is the value of CAVariable for the CAs that this machine trusts.
	SystemCA = "system"
	// HostnameVariable holds the agent's name as the scheduler knows it, for certificates that do not contain the
	// agent's address.
	HostnameVariable = "ELASTICJOB_AGENT_HOSTNAME"
	// TLSVariable is Mesos' own variable; the values "true" and "1" mean that the agent uses TLS.
	TLSVariable = sslPrefix + "ENABLED"
)

const sslPrefix = "LIBPROCESS_SSL_"

// tlsEnvironment reads the settings for TLS from the environment: from Mesos' variables and those of the scheduler.
type tlsEnvironment struct {
	getenv func(string) string
	errs   []error
}

// TLSConfig returns the TLS configuration of an executor with this environment for the agent at the address host:port.
// It returns nil if the agent uses plain HTTP. The error lists everything that is wrong.
func TLSConfig(getenv func(string) string, address string) (*tls.Config, error) {
	return (&tlsEnvironment{getenv: getenv}).config(address)
}

// setting returns the value of one of Mesos' variables, which had another name before Mesos 1.0.
func (t *tlsEnvironment) setting(name string) string {
	if value := t.getenv(sslPrefix + name); value != "" {
		return value
	}
	return t.getenv("SSL_" + name)
}

// boolean reports whether one of these boolean variables of Mesos is on, and whether any of them is set.
func (t *tlsEnvironment) boolean(names ...string) (on, isSet bool) {
	for _, name := range names {
		value := t.setting(name)
		switch strings.ToLower(value) {
		case "":
			continue
		case "1", "true":
			on = true
		case "0", "false":
		default:
			t.errs = append(t.errs, fmt.Errorf("%s%s is %q: must be true or false", sslPrefix, name, value))
		}
		isSet = true
	}
	return on, isSet
}

// config returns the configuration for an agent at the endpoint host:port, or nil for an agent without TLS. Like
// Mesos' own executors, it verifies the agent's certificate if LIBPROCESS_SSL_VERIFY_SERVER_CERT says so. It also
// verifies the certificate if a CA is given, unless a variable forbids it.
func (t *tlsEnvironment) config(endpoint string) (*tls.Config, error) {
	if on, _ := t.boolean("ENABLED"); !on {
		return nil, errors.Join(t.errs...)
	}
	roots, given := t.roots()
	config := mesostls.Config(roots)
	if cert, key := t.setting("CERT_FILE"), t.setting("KEY_FILE"); cert != "" && key != "" {
		mesostls.Present(config, cert, key)
	}
	verify, isSet := t.boolean("VERIFY_SERVER_CERT", "VERIFY_CERT")
	if required, _ := t.boolean("REQUIRE_CLIENT_CERT", "REQUIRE_CERT"); required {
		verify = true // the same as in Mesos
	}
	config.InsecureSkipVerify = true // VerifyConnection verifies the certificate
	if verify || given && !isSet {
		config.VerifyConnection = t.peer(endpoint, roots).verify
	}
	return config, errors.Join(t.errs...)
}

// roots returns the certificates of the CAs, or nil for the system's. given reports whether a variable names any. A
// file that can't be read is an error only if no certificate is found elsewhere, because the agent's files may belong
// to another user.
func (t *tlsEnvironment) roots() (pool *x509.CertPool, given bool) {
	own, file, dir := t.getenv(CAVariable), t.setting("CA_FILE"), t.setting("CA_DIR")
	given = own != "" || file != "" || dir != ""
	pool = x509.NewCertPool()
	found := false
	if own == SystemCA {
		if system, err := x509.SystemCertPool(); err == nil {
			pool, found = system, true
		}
	} else if own != "" {
		found = pool.AppendCertsFromPEM([]byte(own))
	}
	var errs []error
	read := func(path string) {
		text, err := os.ReadFile(path)
		if err == nil && !pool.AppendCertsFromPEM(text) {
			err = fmt.Errorf("%s contains no certificate in PEM form", path)
		}
		found = found || err == nil
		errs = append(errs, err)
	}
	if file != "" {
		read(file)
	}
	if dir != "" {
		entries, err := os.ReadDir(dir)
		errs = append(errs, err)
		for _, e := range entries {
			read(filepath.Join(dir, e.Name()))
		}
	}
	switch {
	case found:
		return pool, given
	case given:
		t.errs = append(t.errs, fmt.Errorf("CA for the agent: %w",
			errors.Join(append(errs, errors.New("no certificate was found"))...)))
	}
	return nil, given
}

// peer describes the agent whose certificate is checked.
type peer struct {
	roots *x509.CertPool
	// host is the host of the endpoint, usually an IP address. names are other names of the agent.
	host  string
	names []string
	// lookup allows a reverse DNS lookup of the host's names, which is the default of Mesos. It is not set with
	// LIBPROCESS_SSL_HOSTNAME_VALIDATION_SCHEME=openssl, which means that DNS is not trusted.
	lookup bool
}

func (t *tlsEnvironment) peer(endpoint string, roots *x509.CertPool) peer {
	p := peer{roots: roots, host: endpoint, lookup: t.setting("HOSTNAME_VALIDATION_SCHEME") != "openssl"}
	if host, _, err := net.SplitHostPort(endpoint); err == nil {
		p.host = host
	}
	if name := t.getenv(HostnameVariable); name != "" {
		p.names = append(p.names, name)
	}
	if name, err := os.Hostname(); err == nil { // the agent runs on this machine
		p.names = append(p.names, name)
	}
	return p
}

// lookupTimeout limits a DNS lookup.
const lookupTimeout = 3 * time.Second

// verify requires a chain to one of the roots, and a certificate for the agent's address or one of its names.
func (p peer) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the agent presents no certificate")
	}
	leaf, intermediates := state.PeerCertificates[0], x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		intermediates.AddCert(c)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: p.roots, Intermediates: intermediates}); err != nil {
		return fmt.Errorf("the agent's certificate: %w", err)
	}
	isFor := func(name string) bool { return leaf.VerifyHostname(strings.TrimSuffix(name, ".")) == nil }
	if isFor(p.host) || slices.ContainsFunc(p.names, isFor) {
		return nil
	}
	names := p.names
	if p.lookup {
		ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
		defer cancel()
		found, _ := net.DefaultResolver.LookupAddr(ctx, p.host)
		if slices.ContainsFunc(found, isFor) {
			return nil
		}
		names = append(slices.Clone(names), found...)
	}
	return fmt.Errorf("the agent's certificate is neither for %s nor for %s: %w", p.host, strings.Join(names, ", "),
		leaf.VerifyHostname(p.host))
}
