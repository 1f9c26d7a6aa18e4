package agent

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority is a CA that issues certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  crypto.Signer
	leaf *rsa.PrivateKey
	pem  string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, key: key, leaf: leaf}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca of " + t.Name()}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageCertSign,
	}
	der := a.sign(a.cert, key)
	a.pem = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return a
}

func (a *authority) sign(template *x509.Certificate, key crypto.Signer) []byte {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return der
}

// of issues a certificate for names and IPs. Its key is RSA, like most keys of Mesos clusters.
func (a *authority) of(names ...string) tls.Certificate {
	a.t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, name)
		}
	}
	return tls.Certificate{Certificate: [][]byte{a.sign(c, a.leaf)}, PrivateKey: a.leaf}
}

// files writes a certificate and its key to files.
func (a *authority) files(c tls.Certificate) (certFile, keyFile string) {
	a.t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		a.t.Fatal(err)
	}
	dir := a.t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: c.Certificate[0]},
		keyFile: {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestTrustInTheAgent(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "0a1b2c3d.0")
	if err := os.WriteFile(file, []byte("a comment\n"+ca.pem), 0o600); err != nil {
		t.Fatal(err)
	}
	byIP, included := ca.of("127.0.0.1"), ca.of("agent.example")
	me, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile := ca.files(ca.of("executor"))
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM([]byte(ca.pem))
	type vars = map[string]string
	ours := vars{"LIBPROCESS_SSL_ENABLED": "true", "ELASTICJOB_MESOS_CA": ca.pem}
	with := func(more vars) vars {
		all := maps.Clone(ours)
		maps.Copy(all, more)
		return all
	}
	for name, c := range map[string]struct {
		env    vars
		server *tls.Config
		wrong  string
	}{
		"what the scheduler gives":        {ours, &tls.Config{Certificates: []tls.Certificate{byIP}}, ""},
		"Mesos' CA file":                  {vars{"LIBPROCESS_SSL_ENABLED": "1", "LIBPROCESS_SSL_CA_FILE": file}, &tls.Config{Certificates: []tls.Certificate{byIP}}, ""},
		"Mesos' CA folder":                {vars{"LIBPROCESS_SSL_ENABLED": "1", "LIBPROCESS_SSL_CA_DIR": dir}, &tls.Config{Certificates: []tls.Certificate{byIP}}, ""},
		"names before Mesos 1.0":          {vars{"SSL_ENABLED": "true", "SSL_CA_FILE": file, "SSL_VERIFY_CERT": "true"}, &tls.Config{Certificates: []tls.Certificate{byIP}}, ""},
		"no CA is set":                    {vars{"LIBPROCESS_SSL_ENABLED": "true"}, &tls.Config{Certificates: []tls.Certificate{other.of("x")}}, ""},
		"the check is switched off":       {with(vars{"LIBPROCESS_SSL_VERIFY_SERVER_CERT": "false"}), &tls.Config{Certificates: []tls.Certificate{other.of("x")}}, ""},
		"a CA that can't be read besides": {with(vars{"LIBPROCESS_SSL_CA_FILE": "/no/such/file"}), &tls.Config{Certificates: []tls.Certificate{byIP}}, ""},
		"the name that the scheduler has": {with(vars{"ELASTICJOB_AGENT_HOSTNAME": "agent.example"}), &tls.Config{Certificates: []tls.Certificate{included}}, ""},
		"this machine's name":             {ours, &tls.Config{Certificates: []tls.Certificate{ca.of(me)}}, ""},
		"what the address resolves to":    {ours, &tls.Config{Certificates: []tls.Certificate{ca.of("localhost")}}, ""},
		"Mesos' default ciphers":          {ours, &tls.Config{Certificates: []tls.Certificate{byIP}, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA}}, ""},
		"client certificates": {
			with(vars{"LIBPROCESS_SSL_CERT_FILE": certFile, "LIBPROCESS_SSL_KEY_FILE": keyFile}),
			&tls.Config{Certificates: []tls.Certificate{byIP}, ClientAuth: tls.RequireAndVerifyClientCert,
				ClientCAs: clients}, "",
		},
		"a client certificate is missing": {
			ours, &tls.Config{Certificates: []tls.Certificate{byIP}, ClientAuth: tls.RequireAndVerifyClientCert,
				ClientCAs: clients}, "certificate required",
		},
		"a client's key that can't be read": {
			with(vars{"LIBPROCESS_SSL_CERT_FILE": certFile, "LIBPROCESS_SSL_KEY_FILE": "/no/such/key"}),
			&tls.Config{Certificates: []tls.Certificate{byIP}, ClientAuth: tls.RequireAndVerifyClientCert,
				ClientCAs: clients}, "client certificate: open /no/such/key",
		},
		"another CA":         {ours, &tls.Config{Certificates: []tls.Certificate{other.of("127.0.0.1")}}, "unknown authority"},
		"another name":       {ours, &tls.Config{Certificates: []tls.Certificate{included}}, "neither for 127.0.0.1 nor for"},
		"DNS isn't believed": {with(vars{"LIBPROCESS_SSL_HOSTNAME_VALIDATION_SCHEME": "openssl"}), &tls.Config{Certificates: []tls.Certificate{ca.of("localhost")}}, "neither for 127.0.0.1"},
		"the system's CAs":   {vars{"LIBPROCESS_SSL_ENABLED": "true", "ELASTICJOB_MESOS_CA": "system"}, &tls.Config{Certificates: []tls.Certificate{byIP}}, "unknown authority"},
		"a CA file besides":  {vars{"LIBPROCESS_SSL_ENABLED": "true", "ELASTICJOB_MESOS_CA": "system", "LIBPROCESS_SSL_CA_FILE": file}, &tls.Config{Certificates: []tls.Certificate{byIP}}, ""},
		"no CA, but a check": {vars{"LIBPROCESS_SSL_ENABLED": "true", "LIBPROCESS_SSL_VERIFY_SERVER_CERT": "true"}, &tls.Config{Certificates: []tls.Certificate{byIP}}, "unknown authority"},
		"implied check":      {vars{"LIBPROCESS_SSL_ENABLED": "true", "LIBPROCESS_SSL_REQUIRE_CERT": "true"}, &tls.Config{Certificates: []tls.Certificate{byIP}}, "unknown authority"},
		"plain":              {vars{"LIBPROCESS_SSL_ENABLED": "false", "SSL_ENABLED": "true"}, &tls.Config{Certificates: []tls.Certificate{byIP}}, "no TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "hello")
			}))
			server.TLS, server.Config.ErrorLog = c.server, log.New(io.Discard, "", 0)
			server.StartTLS()
			defer server.Close()
			config, err := (&tlsEnvironment{getenv: func(name string) string { return c.env[name] }}).config(
				server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if config == nil {
				if c.wrong != "no TLS" {
					t.Error("no TLS")
				}
				return
			}
			transport := &http.Transport{TLSClientConfig: config}
			defer transport.CloseIdleConnections()
			answer, err := (&http.Client{Transport: transport}).Get(server.URL)
			if err == nil {
				_ = answer.Body.Close()
			}
			if (err == nil) != (c.wrong == "") || (err != nil && !strings.Contains(err.Error(), c.wrong)) {
				t.Errorf("want %q, got %v", c.wrong, err)
			}
		})
	}
}

func TestInvalidTLSSettings(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]map[string]string{
		"LIBPROCESS_SSL_ENABLED":            {"LIBPROCESS_SSL_ENABLED": "yes"},
		"LIBPROCESS_SSL_VERIFY_SERVER_CERT": {"LIBPROCESS_SSL_ENABLED": "1", "LIBPROCESS_SSL_VERIFY_SERVER_CERT": "2"},
		"/no/such/file":                     {"LIBPROCESS_SSL_ENABLED": "1", "LIBPROCESS_SSL_CA_FILE": "/no/such/file"},
		"no certificate":                    {"LIBPROCESS_SSL_ENABLED": "1", "ELASTICJOB_MESOS_CA": "nonsense"},
	} {
		if _, err := (&tlsEnvironment{getenv: func(name string) string { return env[name] }}).config(
			"127.0.0.1:5051"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q, got %v", name, err)
		}
	}
}
