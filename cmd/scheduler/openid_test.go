package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/test/eventually"
	"github.com/elasticjob-go/elasticjob/test/openid"
)

func TestOpenIDFlags(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret, open := w.file(t, "secret", "hush\n", 0o600), w.file(t, "open", "hush\n", 0o644)
	const right = "--local --oidc-issuer https://id.example --oidc-client-id ej --oidc-role admins=admin "
	for args, want := range map[string][]string{
		"--local --oidc-client-id x --oidc-role a=admin": {"--oidc-client-id has no effect without --oidc-issuer", "--oidc-role has no effect"},
		"--local --oidc-issuer http://id.example":        {"want https", "--oidc-client-id is missing", "--oidc-role is missing"},
		right + "--oidc-client-secret-file " + open: {"--oidc-client-secret-file",
			"chmod 600"},
		right + "--oidc-redirect-url http://jobs.example/api/oidc/callback": {"--oidc-redirect-url", "want https"},
		right + "--oidc-role x=boss --oidc-role y": {`--oidc-role "x=boss"`, "must be one of",
			`--oidc-role "y"`},
		right + "--advertise jobs.example:8899": {"by default that of --advertise", "want https"},
	} {
		_, err := w.settings(strings.Fields(args)...)
		for _, words := range want {
			if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%s: want %q in: %v", args, words, err)
			}
		}
	}
	s, err := w.settings(append(strings.Fields(right+"--oidc-scopes groups,email --oidc-client-secret-file "+secret),
		"--oidc-role", "a,b=operator:x-*,y")...)
	if err != nil {
		t.Fatal(err)
	}
	if o := s.config.openID; len(o.roles) != 2 || o.roles[1].Value != "a,b" || len(o.roles[1].Apps) != 2 ||
		len(o.scopes) != 2 || o.secret != "hush" {
		t.Errorf("%+v", o)
	}
	var out strings.Builder
	if err := s.show(&out); err != nil || strings.Contains(out.String(), "hush") {
		t.Errorf("%v: it shows %s", err, &out)
	}
}

// someKeys sign, and issue nothing.
type someKeys struct{}

func (someKeys) Sign(purpose string, what []byte) []byte {
	h := hmac.New(sha256.New, []byte(purpose))
	_, _ = h.Write(what)
	return h.Sum(nil)
}

func (k someKeys) Verify(purpose string, what, code []byte) bool {
	return hmac.Equal(k.Sign(purpose, what), code)
}

func (someKeys) Issue(p auth.Principal, _ time.Duration) (string, auth.Principal, error) {
	return "", p, nil
}

// TestTheProviderOfTheFlagsIsLookedUp, and is told where to send browsers back to.
func TestTheProviderOfTheFlagsIsLookedUp(t *testing.T) {
	t.Parallel()
	there, w := openid.Start(t), newWorld(t)
	s, err := w.settings("--local", "--oidc-issuer", there.URL, "--oidc-client-id", openid.Client, "--oidc-role",
		"a=admin")
	if err != nil {
		t.Fatal(err)
	}
	web := api.Options{Advertise: "127.0.0.1:1234"}
	end := s.config.useKeys(&web, someKeys{}, slog.New(slog.DiscardHandler))
	defer end()
	var address string
	eventually.Works(t, "a login begins", func() (err error) {
		address, _, err = web.OpenID.Begin()
		return err
	})
	if !strings.HasPrefix(address, there.URL+"/authorize?") ||
		!strings.Contains(address, "redirect_uri=http%3A%2F%2F127.0.0.1%3A1234%2Fapi%2Foidc%2Fcallback") {
		t.Error(address)
	}
}
