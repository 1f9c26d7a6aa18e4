package api_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/auth/oidc"
	"github.com/elasticjob-go/elasticjob/test/certificates"
	"github.com/elasticjob-go/elasticjob/test/openid"
)

// issuer issues the same token to everyone, or fails.
type issuer struct {
	err  error
	whom auth.Principal
}

func (i *issuer) Issue(p auth.Principal, lifetime time.Duration) (string, auth.Principal, error) {
	if lifetime != 0 {
		return "", auth.Principal{}, errors.New("a lifetime of its own")
	}
	i.whom = p
	p.Expires = time.Now().Add(time.Hour)
	return "ejl_token", p, i.err
}

// lazily is an OpenID whose provider is set after the server's address is known.
type lazily struct{ *oidc.Provider }

// loggingIn is a server with TLS and a provider. Tests handle the browser's cookies themselves.
type loggingIn struct {
	url    string
	there  *openid.Provider
	issuer *issuer
	client *http.Client
}

func newLoggingIn(t *testing.T) *loggingIn {
	t.Helper()
	given := &issuer{}
	l := newLoggingInAt(t, api.Options{Issuer: given})
	l.issuer = given
	return l
}

// newLoggingInAt is newLoggingIn with the given issuer and Access.
func newLoggingInAt(t *testing.T, opts api.Options) *loggingIn {
	t.Helper()
	ca := certificates.New(t)
	l := &loggingIn{there: openid.Start(t), client: browser(t, ca, true)}
	provider := &lazily{}
	opts.Scheduler, opts.TLS, opts.OpenID = newFakeScheduler(), keep(t, ca), provider
	l.url = secure(serveUntilEnd(t, opts))
	toProvider := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	provider.Provider = oidc.New(oidc.Options{
		Issuer: l.there.URL, Client: openid.Client, Secret: openid.Secret, Redirect: l.url + "/api/oidc/callback",
		NameClaim: "preferred_username", RolesClaim: "groups",
		Roles:  []oidc.Role{{Value: "ops", Grant: auth.Grant{Role: auth.Operator}}},
		Sealer: proofs("k"), HTTP: toProvider,
	})
	provider.Run(t.Context())
	l.there.Says(map[string]any{"groups": []string{"ops"}})
	return l
}

// begin starts a login and passes through the provider. It returns the cookie to send and the callback's address.
func (l *loggingIn) begin(t *testing.T) (cookie *http.Cookie, back string) {
	t.Helper()
	answer, text := fetch(t, l.client, "GET", l.url+"/api/oidc/login", nil)
	if answer.StatusCode != http.StatusFound || len(answer.Cookies()) != 1 {
		t.Fatalf("%d %s %v", answer.StatusCode, text, answer.Header)
	}
	cookie = answer.Cookies()[0]
	if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteLaxMode ||
		!strings.HasPrefix(cookie.Name, "__Host-") || cookie.Path != "/" || cookie.MaxAge <= 0 {
		t.Errorf("cookie %+v", cookie)
	}
	answer, text = fetch(t, l.client, "GET", answer.Header.Get("Location"), nil)
	if back = answer.Header.Get("Location"); !strings.HasPrefix(back, l.url+"/api/oidc/callback?") {
		t.Fatalf("%d %s to %q", answer.StatusCode, text, back)
	}
	return cookie, back
}

func TestLoginByOpenID(t *testing.T) {
	t.Parallel()
	l := newLoggingIn(t)
	cookie, back := l.begin(t)
	// Wherever the query asks to redirect the browser, it is sent to the front page.
	answer, text := fetch(t, l.client, "GET", back+"&redirect=https://evil.example&next=//evil.example", nil,
		"Cookie: "+cookie.String())
	if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "../../" {
		t.Fatalf("%d %s %v", answer.StatusCode, text, answer.Header)
	}
	if want := (auth.Principal{Name: "alice", Kind: auth.OIDC,
		Grant: auth.Grant{Role: auth.Operator}}); l.issuer.whom.Name != want.Name || l.issuer.whom.Kind != want.Kind ||
		l.issuer.whom.Role != want.Role {
		t.Errorf("%+v", l.issuer.whom)
	}
	set := answer.Cookies()
	session := slices.IndexFunc(set, func(c *http.Cookie) bool { return c.Name == "__Host-elasticjob" })
	ended := slices.IndexFunc(set, func(c *http.Cookie) bool { return c.Name == cookie.Name })
	if session < 0 || set[session].Value != "ejl_token" || !set[session].HttpOnly || !set[session].Secure ||
		set[session].SameSite != http.SameSiteStrictMode {
		t.Errorf("the session: %v", set)
	}
	if ended < 0 || set[ended].MaxAge >= 0 {
		t.Errorf("the login's cookie is kept: %v", set)
	}
	answer, text = fetch(t, l.client, "GET", back, nil, "Cookie: "+cookie.String()) // a second time
	if e := readError(t, answer, text); answer.StatusCode != 403 || e.Error.Code != "login_refused" {
		t.Errorf("replayed: %d %s", answer.StatusCode, text)
	}
}

func TestLoginsByOpenIDThatAreRefused(t *testing.T) {
	t.Parallel()
	l := newLoggingIn(t)
	for name, c := range map[string]struct {
		prepare func(cookie *http.Cookie, back string) (*http.Cookie, string)
		status  int
		code    string
	}{
		"no cookie": {func(_ *http.Cookie, back string) (*http.Cookie, string) {
			return &http.Cookie{Name: "x", Value: "y"}, back
		}, 400, "bad_login"},
		"another browser's": {func(_ *http.Cookie, back string) (*http.Cookie, string) { c, _ := l.begin(t); return c, back }, 400, "bad_login"},
		"no query":          {func(c *http.Cookie, _ string) (*http.Cookie, string) { return c, l.url + "/api/oidc/callback" }, 400, "bad_login"},
		"a bad query":       {func(c *http.Cookie, _ string) (*http.Cookie, string) { return c, l.url + "/api/oidc/callback?a=%zz" }, 400, "bad_query"},
		"another code": {func(c *http.Cookie, back string) (*http.Cookie, string) {
			return c, strings.Replace(back, "code=", "code=x", 1)
		}, 403, "login_refused"},
		"no role": {func(c *http.Cookie, back string) (*http.Cookie, string) {
			l.there.Says(map[string]any{"groups": []string{"guests"}})
			return c, back
		}, 403, "no_role"},
		"nobody there": {func(c *http.Cookie, back string) (*http.Cookie, string) { l.there.SetDown(true); return c, back }, 503, "oidc_unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			l.there.SetDown(false)
			l.there.Says(map[string]any{"groups": []string{"ops"}})
			cookie, back := c.prepare(l.begin(t))
			answer, text := fetch(t, l.client, "GET", back, nil, "Cookie: "+cookie.String())
			if e := readError(t, answer, text); answer.StatusCode != c.status || e.Error.Code != c.code {
				t.Errorf("%d %s", answer.StatusCode, text)
			}
			// A browser gets a page with the same words.
			l.there.SetDown(false)
			l.there.Says(map[string]any{"groups": []string{"ops"}})
			cookie, back = c.prepare(l.begin(t))
			answer, page := fetch(t, l.client, "GET", back, nil, "Cookie: "+cookie.String(),
				"Accept: text/html,application/xhtml+xml,*/*;q=0.8")
			if answer.StatusCode != c.status || answer.Header.Get("Content-Type") != "text/html; charset=utf-8" ||
				!strings.Contains(page, "<code>"+c.code+"</code>") || !strings.Contains(page, `href="login"`) {
				t.Errorf("%d %v %s", answer.StatusCode, answer.Header, page)
			}
			for _, set := range answer.Cookies() {
				if set.Value != "" {
					t.Errorf("a cookie was set: %v", set)
				}
			}
		})
	}
	without := start(t, api.Options{Scheduler: newFakeScheduler()})
	for _, path := range []string{"/api/oidc/login", "/api/oidc/callback"} {
		answer, text := call(t, without, "GET", path, "")
		if e := readError(t, answer, text); answer.StatusCode != 404 || e.Error.Code != "no_oidc" ||
			!strings.Contains(text, "--oidc-issuer") {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
}

// TestOpenIDLetsPeopleInBeforeThereAreUsers: with a provider a login is required even without users, and the
// provider's users get the role that the provider gives them.
func TestOpenIDLetsPeopleInBeforeThereAreUsers(t *testing.T) {
	t.Parallel()
	access := realAccess(t, auth.Options{})
	l := newLoggingInAt(t, api.Options{Access: access, Issuer: access})
	answer, text := fetch(t, l.client, "GET", l.url+"/api/app/list", nil)
	if e := readError(t, answer, text); answer.StatusCode != 401 || e.Error.Code != "token_missing" {
		t.Errorf("nobody: %d %s", answer.StatusCode, text)
	}
	cookie, back := l.begin(t)
	answer, text = fetch(t, l.client, "GET", back, nil, "Cookie: "+cookie.String(), "Sec-Fetch-Site: cross-site",
		"Sec-Fetch-Mode: navigate")
	set := answer.Cookies()
	session := slices.IndexFunc(set, func(c *http.Cookie) bool { return c.Name == "__Host-elasticjob" })
	if answer.StatusCode != http.StatusSeeOther || session < 0 {
		t.Fatalf("%d %s %v", answer.StatusCode, text, set)
	}
	with := "Cookie: __Host-elasticjob=" + set[session].Value
	if answer, text := fetch(t, l.client, "GET", l.url+"/api/session", nil, with); answer.StatusCode != 200 ||
		!strings.HasPrefix(text, `{"name":"alice","kind":"oidc","role":"operator","expires":"`) {
		t.Errorf("who am I: %d %s", answer.StatusCode, text)
	}
	if answer, text := fetch(t, l.client, "DELETE", l.url+"/api/session", nil, with,
		"Origin: "+l.url); answer.StatusCode != 200 {
		t.Errorf("logout: %d %s", answer.StatusCode, text)
	}
	if answer, _ := fetch(t, l.client, "GET", l.url+"/api/session", nil, with); answer.StatusCode != 401 {
		t.Errorf("after the logout: %d", answer.StatusCode)
	}
}
