package server

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

// someKeys signs and verifies, but issues no logins.
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

// TestOpenIDProviderIsContacted: the server fetches the provider's configuration, and login requests contain the
// server's callback address.
func TestOpenIDProviderIsContacted(t *testing.T) {
	t.Parallel()
	provider := openid.Start(t)
	c, _ := parseSettings(t, "--local", "--oidc-issuer", provider.URL, "--oidc-client-id", openid.Client, "--oidc-role",
		"a=admin")
	web := api.Options{Advertise: "127.0.0.1:1234"}
	end := useKeys(&c, &web, someKeys{}, slog.New(slog.DiscardHandler))
	defer end()
	var address string
	eventually.Works(t, "a login begins", func() (err error) {
		address, _, err = web.OpenID.Begin()
		return err
	})
	if !strings.HasPrefix(address, provider.URL+"/authorize?") ||
		!strings.Contains(address, "redirect_uri=http%3A%2F%2F127.0.0.1%3A1234%2Fapi%2Foidc%2Fcallback") {
		t.Error(address)
	}
}
