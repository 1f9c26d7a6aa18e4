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

// The scheduler sets these in the ExecutorInfo when it knows that the cluster's agents speak TLS.
const (
	// CAVariable holds the certificates, as PEM, that the agent's is checked with; or SystemCA.
	CAVariable = "ELASTICJOB_MESOS_CA"
	// SystemCA as CAVariable's value stands for the certificates that this machine trusts.
	SystemCA = "system"
	// HostnameVariable holds the agent's name as the scheduler knows it, for certificates without its address.
	HostnameVariable = "ELASTICJOB_AGENT_HOSTNAME"
	// TLSVariable is Mesos' own: with the value "true" the agent is spoken to over TLS.
	TLSVariable = sslPrefix + "ENABLED"
)

const sslPrefix = "LIBPROCESS_SSL_"

// tlsEnvironment is what the environment says of TLS, in Mesos' variables and ours.
type tlsEnvironment struct {
	getenv func(string) string
	errs   []error
}

// TLSConfig is what an executor with this environment speaks TLS with to the agent at that address, host:port; nil if
// the agent speaks plain HTTP. The error has all that is wrong.
func TLSConfig(getenv func(string) string, address string) (*tls.Config, error) {
	return (&tlsEnvironment{getenv: getenv}).config(address)
}

// setting is a variable of Mesos, also under its name before Mesos 1.0.
func (t *tlsEnvironment) setting(name string) string {
	if value := t.getenv(sslPrefix + name); value != "" {
		return value
	}
	return t.getenv("SSL_" + name)
}

// on reports whether one of these switches of Mesos is on, and whether any of them says anything.
func (t *tlsEnvironment) on(names ...string) (on, said bool) {
	for _, name := range names {
		value := t.setting(name)
		switch strings.ToLower(value) {
		case "":
			continue
		case "1", "true":
			on = true
		case "0", "false":
		default:
			t.errs = append(t.errs, fmt.Errorf("%s%s is %q: want true or false", sslPrefix, name, value))
		}
		said = true
	}
	return on, said
}

// config is nil for an agent that speaks no TLS. As with Mesos' own executors the agent's certificate is
// checked when LIBPROCESS_SSL_VERIFY_SERVER_CERT says so; besides, when a CA is given and
// it isn't said that nothing is to be checked. The endpoint is host:port.
func (t *tlsEnvironment) config(endpoint string) (*tls.Config, error) {
	if on, _ := t.on("ENABLED"); !on {
		return nil, errors.Join(t.errs...)
	}
	roots, given := t.roots()
	config := mesostls.Config(roots)
	if cert, key := t.setting("CERT_FILE"), t.setting("KEY_FILE"); cert != "" && key != "" {
		mesostls.Present(config, cert, key)
	}
	verify, said := t.on("VERIFY_SERVER_CERT", "VERIFY_CERT")
	if required, _ := t.on("REQUIRE_CLIENT_CERT", "REQUIRE_CERT"); required {
		verify = true // as in Mesos
	}
	config.InsecureSkipVerify = true // what is checked is below
	if verify || (given && !said) {
		config.VerifyConnection = t.peer(endpoint, roots).check
	}
	return config, errors.Join(t.errs...)
}

// roots are the CAs' certificates, nil for the system's; given says that somebody named one. A file that
// can't be read matters only if nothing else is there: the agent's files are those of another user.
func (t *tlsEnvironment) roots() (pool *x509.CertPool, given bool) {
	ours, file, dir := t.getenv(CAVariable), t.setting("CA_FILE"), t.setting("CA_DIR")
	given = ours != "" || file != "" || dir != ""
	pool = x509.NewCertPool()
	found := false
	if ours == SystemCA {
		if system, err := x509.SystemCertPool(); err == nil {
			pool, found = system, true
		}
	} else if ours != "" {
		found = pool.AppendCertsFromPEM([]byte(ours))
	}
	var errs []error
	read := func(path string) {
		text, err := os.ReadFile(path)
		if err == nil && !pool.AppendCertsFromPEM(text) {
			err = fmt.Errorf("%s holds no certificate in PEM form", path)
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

// peer is the agent whose certificate is checked.
type peer struct {
	roots *x509.CertPool
	// host is what is connected to, an IP as a rule; names are what it is called besides.
	host  string
	names []string
	// lookup allows to ask which names the address has, which is Mesos' default. With
	// LIBPROCESS_SSL_HOSTNAME_VALIDATION_SCHEME=openssl nobody is believed who answers for DNS.
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

// lookupWithin bounds a question to DNS.
const lookupWithin = 3 * time.Second

// check wants a chain to one of the roots, and that the certificate is for the agent's address or one of its names.
func (p peer) check(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the agent shows no certificate")
	}
	leaf, between := state.PeerCertificates[0], x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: p.roots, Intermediates: between}); err != nil {
		return fmt.Errorf("the agent's certificate: %w", err)
	}
	isFor := func(name string) bool { return leaf.VerifyHostname(strings.TrimSuffix(name, ".")) == nil }
	if isFor(p.host) || slices.ContainsFunc(p.names, isFor) {
		return nil
	}
	names := p.names
	if p.lookup {
		ctx, cancel := context.WithTimeout(context.Background(), lookupWithin)
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
