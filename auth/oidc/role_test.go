package oidc_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/auth/oidc"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// recorder records a response.
type recorder struct {
	bytes.Buffer
	header http.Header
}

func (w *recorder) response(r *http.Request) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: w.header, Body: io.NopCloser(&w.Buffer), Request: r}
}

func TestParseRole(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]oidc.Role{
		"admins=admin":                          {Value: "admins", Grant: auth.Grant{Role: auth.Admin}},
		"cn=ops,dc=x=operator":                  {Value: "cn=ops,dc=x", Grant: auth.Grant{Role: auth.Operator}},
		"billing=operator:billing-*,invoices":   {Value: "billing", Grant: auth.Grant{Role: auth.Operator, Apps: []string{"billing-*", "invoices"}}},
		"https://example.com/x y=viewer:a-[bc]": {Value: "https://example.com/x y", Grant: auth.Grant{Role: auth.Viewer, Apps: []string{"a-[bc]"}}},
	} {
		got, err := oidc.ParseRole(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
	for text, why := range map[string]string{
		"admins": "VALUE=ROLE", "=admin": "VALUE=ROLE", "": "VALUE=ROLE", "a=": "must be one of",
		"a=root":    "must be one of",
		"a=viewer:": "pattern", "a=viewer:[": "pattern", "a=viewer:x,,y": "pattern",
	} {
		if got, err := oidc.ParseRole(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"https://id.example.com", "https://id.example.com/realms/main",
		"http://localhost:8080/x", "http://127.0.0.1:1", "http://[::1]:1"} {
		if err := oidc.CheckAddress(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "id.example.com", "ftp://id.example.com", "http://id.example.com",
		"http://10.0.0.1", "https://u:hush@id.example.com", "https://", "https://h?x=y", "https://h#f", "://"} {
		if err := oidc.CheckAddress(bad); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
