package mesos_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster/mesos"
)

// clientFiles writes a test server's certificate and key into files.
func clientFiles(t *testing.T, server *httptest.Server) (certFile, keyFile string) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	keyFile = t.TempDir() + "/key.pem"
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		0o600); err != nil {
		t.Fatal(err)
	}
	return writeCA(t, server), keyFile
}

// mesosDefaults is a server like Mesos with LIBPROCESS_SSL_REQUIRE_CLIENT_CERT and its default ciphers and versions.
func mesosDefaults() *tls.Config {
	return &tls.Config{
		ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12,
		CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA},
	}
}

func startTLS(t *testing.T, handler http.Handler, config *tls.Config) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.TLS, server.Config.ErrorLog = config, log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func TestClientCertificates(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	shown := make(chan []byte, 100)
	see := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			shown <- r.TLS.PeerCertificates[0].Raw
			h.ServeHTTP(w, r)
		})
	}
	secure := startTLS(t, see(m), mesosDefaults())
	agent := startTLS(t, see(respond(200, `{"data":"hello","offset":0}`)), mesosDefaults())
	cert, key := clientFiles(t, secure)
	ca := writeCA(t, secure)
	config, err := mesos.LoadTLS(mesos.TLSFiles{CA: ca, Cert: cert, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	open(t, driver(t, mesos.Options{Masters: []string{secure.URL}, TLS: config}))
	if data, err := newFiles(t, mesos.Options{TLS: config}).Read(t.Context(), agent.URL, stdout, 0, 10); err != nil ||
		string(data) != "hello" {
		t.Errorf("read %q, %v", data, err)
	}
	for range 2 {
		if got := <-shown; !bytes.Equal(got, secure.Certificate().Raw) {
			t.Error("another certificate was shown")
		}
	}

	without, err := mesos.LoadTLS(mesos.TLSFiles{CA: ca})
	if err != nil {
		t.Fatal(err)
	}
	mustFail(t, driver(t, mesos.Options{Masters: []string{secure.URL}, TLS: without}), "--mesos-cert-file",
		"--mesos-key-file")
	// A key that is removed later is reported as missing.
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	mustFail(t, driver(t, mesos.Options{Masters: []string{secure.URL}, TLS: config}), "--mesos-cert-file", key)
	for _, files := range []mesos.TLSFiles{{CA: ca, Cert: cert, Key: key}, {CA: ca, Cert: cert},
		{CA: ca, Cert: ca, Key: ca}} {
		if _, err := mesos.LoadTLS(files); err == nil || !strings.Contains(err.Error(), "client certificate") {
			t.Errorf("%+v: %v", files, err)
		}
	}
}
