package netproblem

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAuthorities checks that only a certificate of an unknown authority is a reason to name --ca-file.
func TestAuthorities(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	known := x509.NewCertPool()
	known.AddCert(server.Certificate())
	for name, c := range map[string]struct {
		config *tls.Config
		names  bool
	}{
		"unknown":    {&tls.Config{}, true},
		"other name": {&tls.Config{RootCAs: known, ServerName: "other.example"}, false},
	} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: c.config, DisableKeepAlives: true}}
		answer, err := client.Get(server.URL)
		if err == nil {
			_ = answer.Body.Close()
			t.Errorf("%s: the certificate is accepted", name)
			continue
		}
		err = fmt.Errorf("wrapped: %w", err)
		if names := strings.Contains(Advice(err), "--ca-file"); names != c.names {
			t.Errorf("%s: the advice is %q", name, Advice(err))
		}
		if text := Text(err); strings.Contains(text, "--ca-file") != c.names ||
			!strings.Contains(text, "its certificate") {
			t.Errorf("%s: the text is %q", name, text)
		}
	}
}
