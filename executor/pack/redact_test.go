package pack_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// TestErrorsHideSecrets: no error contains the password of a URL, however unusual, or its signature.
func TestErrorsHideSecrets(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/no-url":
			w.Header().Set("Location", "http://me:sesame%zz@host/?sig=sesame")
			w.WriteHeader(http.StatusFound)
		case "/ftp":
			http.Redirect(w, r, "ftp://me:sesame@host/x?sig=sesame", http.StatusFound)
		case "/page":
			_, _ = io.WriteString(w, "<!DOCTYPE html><html>")
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	var log strings.Builder
	limits := pack.Defaults()
	limits.Tries = 1
	store, err := pack.Open(t.TempDir(), t.TempDir(), limits, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for address, want := range map[string]string{
		"http://me:sesame@127.0.0.1:1/x":                    "http://me:xxxxx@127.0.0.1:1/x:",
		"http://127.0.0.1:1/x.tgz?X-Amz-Signature=sesame#a": "http://127.0.0.1:1/x.tgz?…:",
		"http://me:ses%zzame@127.0.0.1:1/x?sig=sesame":      "http://me:xxxxx@127.0.0.1:1/x?…:",
		"http://me:ses/sesame@127.0.0.1:1/x":                "http://me:xxxxx@127.0.0.1:1/x:",
		"http://me:ses?sesame@127.0.0.1:1/x?sesame":         "http://me:xxxxx@127.0.0.1:1/x?…:",
		"me:sesame@127.0.0.1/x":                             "xxxxx@127.0.0.1/x:",
		"http://127.0.0.1:1/%zz?sig=sesame":                 "http://127.0.0.1:1/%zz?…:",
		"http://127.0.0.1:1/app@1.2.tgz":                    "http://127.0.0.1:1/app@1.2.tgz:",
		"file:///no/such/app@1.2.tgz":                       "file:///no/such/app@1.2.tgz:",
		server.URL + "/no-url?sig=sesame":                   "redirects to an invalid URL",
		server.URL + "/ftp?sig=sesame":                      `redirects to a URL of scheme "ftp"`,
		server.URL + "/page?sig=sesame":                     "/page?…: this is a web page",
		server.URL + "/gone?sig=sesame":                     "/gone?…: the server answers 404",
	} {
		for _, cache := range []bool{false, true} {
			_, err := store.Get(context.Background(), pack.Source{URL: address, Cache: cache})
			if err == nil || strings.Contains(err.Error(), "sesame") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v; want %s", address, err, want)
			}
		}
	}
	if !strings.Contains(log.String(), "/page?…") || strings.Contains(log.String(), "sesame") {
		t.Errorf("log: %s", &log)
	}
}
