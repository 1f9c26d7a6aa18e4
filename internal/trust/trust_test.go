package trust

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/certificates"
)

// TestAdd checks that clients without settings of their own trust an added authority, and still no other one.
func TestAdd(t *testing.T) {
	serve := func(ca *certificates.Authority) string {
		server := httptest.NewUnstartedServer(
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
		issued := ca.Good()
		pair, err := tls.X509KeyPair(issued.Cert, issued.Key)
		if err != nil {
			t.Fatal(err)
		}
		server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		t.Cleanup(server.Close)
		return server.URL
	}
	own, other := certificates.New(t), certificates.New(t)
	t.Setenv("GODEBUG", "x509sha256skid=1")
	text, err := Check(own.PEM)
	if err != nil {
		t.Fatal(err)
	}
	if err := Add(""); err != nil {
		t.Fatal(err)
	}
	if err := Add(text); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("GODEBUG") != "x509sha256skid=1" {
		t.Errorf("GODEBUG is %q afterwards", os.Getenv("GODEBUG"))
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if res, err := client.Get(serve(own)); err != nil {
		t.Error(err)
	} else {
		res.Body.Close()
	}
	if res, err := client.Get(serve(other)); err == nil {
		res.Body.Close()
		t.Error("an authority that was not added is trusted")
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	own := certificates.New(t).PEM
	if text, err := Check(append([]byte("# our own\n"), own...)); err != nil || strings.Contains(text, "#") {
		t.Error(text, err)
	}
	// Windows' editors put a byte order mark in front.
	if text, err := Check(append([]byte("\ufeff"), own...)); err != nil || text != string(own) {
		t.Error(text, err)
	}
	der, _ := pem.Decode(own)
	for text, want := range map[string]string{
		string(der.Bytes): "openssl x509 -inform der",
		"":                "no certificate", "x": "no certificate",
		"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n": "only certificates",
		"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n": "can't be read",
		strings.Repeat(string(own), 200):                                 "more than 64 KiB",
	} {
		if _, err := Check([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}
