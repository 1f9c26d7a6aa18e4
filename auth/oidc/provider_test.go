package oidc_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/auth/oidc"
	"github.com/elasticjob-go/elasticjob/test/openid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sealer signs with its own key.
type sealer string

func (s sealer) Sign(purpose string, what []byte) []byte {
	if s == "" {
		return nil
	}
	h := hmac.New(sha256.New, []byte(s))
	_, _ = h.Write([]byte(purpose + " " + string(what)))
	return h.Sum(nil)
}

func (s sealer) Verify(purpose string, what, code []byte) bool {
	return s != "" && hmac.Equal(s.Sign(purpose, what), code)
}

const redirect = "http://127.0.0.1:8899/api/oidc/callback"

func options(p *openid.Provider) oidc.Options {
	return oidc.Options{
		Issuer: p.URL, Client: openid.Client, Secret: openid.Secret, Redirect: redirect, Scopes: []string{"profile"},
		NameClaim: "preferred_username", RolesClaim: "groups", Sealer: sealer("key"),
		Roles: []oidc.Role{
			{Value: "cn=ops,dc=example", Grant: auth.Grant{Role: auth.Operator, Apps: []string{"billing-*"}}},
			{Value: "everybody", Grant: auth.Grant{Role: auth.Viewer}},
		},
		HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second},
	}
}

// open creates a Provider that has found the provider of the test.
func open(t *testing.T, opts oidc.Options) *oidc.Provider {
	t.Helper()
	p := oidc.New(opts)
	p.Run(t.Context())
	return p
}

// flow is a login that the provider has sent back to the browser: the cookie and the query of the callback.
type flow struct {
	cookie string
	query  url.Values
}

func begin(t *testing.T, p *oidc.Provider) flow {
	t.Helper()
	address, cookie, err := p.Begin()
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	back, query, _ := strings.Cut(answer.Header.Get("Location"), "?")
	if answer.StatusCode != http.StatusFound || back != redirect {
		t.Fatalf("%s sends to %s: %s", address, back, answer.Status)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return flow{cookie, values}
}

func code(err error) string {
	var known *oidc.Error
	if errors.As(err, &known) {
		return known.Code()
	}
	return ""
}

// TestClaimsOutsideTheToken checks providers that have a claim at userinfo only, and those that leave out a long list
// of groups.
func TestClaimsOutsideTheToken(t *testing.T) {
	t.Parallel()
	everybody := map[string]any{"groups": []string{"everybody"}}
	for name, c := range map[string]struct {
		token, info map[string]any
		change      func(o *oidc.Options)
		name, code  string
		says        []string
	}{
		"groups at userinfo":         {info: everybody, name: "alice"},
		"the name at userinfo":       {token: map[string]any{"preferred_username": nil, "groups": "everybody"}, info: map[string]any{"preferred_username": "bob"}, name: "bob"},
		"both at userinfo":           {token: map[string]any{"preferred_username": nil}, info: map[string]any{"preferred_username": "bob", "groups": "everybody"}, name: "bob"},
		"the token takes precedence": {token: everybody, info: map[string]any{"preferred_username": "mallory"}, name: "alice"},
		"nested at userinfo":         {info: map[string]any{"realm_access": map[string]any{"roles": []string{"everybody"}}}, change: func(o *oidc.Options) { o.RolesClaim = "realm_access.roles" }, name: "alice"},
		"a verified mail address":    {token: everybody, info: map[string]any{"email": "b@example.com", "email_verified": true}, change: func(o *oidc.Options) { o.NameClaim = "email" }, name: "b@example.com"},
		"an unverified one":          {token: everybody, info: map[string]any{"email": "b@example.com"}, change: func(o *oidc.Options) { o.NameClaim = "email" }, code: oidc.NoRole, says: []string{"email"}},
		"userinfo of another user":   {info: map[string]any{"sub": "1", "groups": "everybody"}, code: oidc.Refused, says: []string{"userinfo"}},
		"nowhere":                    {info: map[string]any{}, code: oidc.NoRole, says: []string{"neither", `"groups"`, "--oidc-scopes"}},
		"no userinfo":                {code: oidc.NoRole, says: []string{"--oidc-roles-claim"}},
		"too many groups":            {token: map[string]any{"_claim_names": map[string]any{"groups": "src1"}, "_claim_sources": map[string]any{"src1": map[string]any{"endpoint": "https://graph.example"}}}, code: oidc.NoRole, says: []string{"more groups", "--oidc-roles-claim roles"}},
		"too many, by hasgroups":     {token: map[string]any{"hasgroups": true}, info: map[string]any{}, code: oidc.NoRole, says: []string{"more groups"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			there := openid.Start(t)
			there.Says(c.token)
			there.Informs(c.info)
			opts := options(there)
			if c.change != nil {
				c.change(&opts)
			}
			p := open(t, opts)
			f := begin(t, p)
			who, err := p.Finish(t.Context(), f.cookie, f.query)
			if code(err) != c.code || who.Name != c.name && err == nil || (err == nil) != (c.code == "") {
				t.Errorf("%+v, %v", who, err)
			}
			for _, part := range c.says {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not say %q", err, part)
				}
			}
		})
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claims map[string]any
		change func(o *oidc.Options)
		want   auth.Principal
		code   string
		says   string
	}{
		"the first role that fits": {
			claims: map[string]any{"groups": []string{"everybody", "cn=ops,dc=example"}},
			want: auth.Principal{Name: "alice", Kind: auth.OIDC,
				Grant: auth.Grant{Role: auth.Operator, Apps: []string{"billing-*"}}},
		},
		"a claim of one text": {
			claims: map[string]any{"groups": "everybody"},
			want:   auth.Principal{Name: "alice", Kind: auth.OIDC, Grant: auth.Grant{Role: auth.Viewer}},
		},
		"a claim within a claim, a name by another": {
			claims: map[string]any{"realm_access": map[string]any{"roles": []string{"everybody"}},
				"email": "a@example.com", "email_verified": true},
			change: func(o *oidc.Options) { o.RolesClaim, o.NameClaim = "realm_access.roles", "email" },
			want:   auth.Principal{Name: "a@example.com", Kind: auth.OIDC, Grant: auth.Grant{Role: auth.Viewer}},
		},
		"several audiences, made for us": {
			claims: map[string]any{"groups": "everybody", "aud": []string{"other", openid.Client},
				"azp": openid.Client},
			want: auth.Principal{Name: "alice", Kind: auth.OIDC, Grant: auth.Grant{Role: auth.Viewer}},
		},
		"several audiences, made for another": {claims: map[string]any{"groups": "everybody", "aud": []string{"other", openid.Client}, "azp": "other"}, code: oidc.Refused, says: "several clients"},
		"no role":                             {claims: map[string]any{"groups": []string{"guests"}}, code: oidc.NoRole, says: `matches your claim "groups", which is "guests"`},
		"no such claim":                       {code: oidc.NoRole, says: "neither"},
		"no name":                             {claims: map[string]any{"groups": "everybody", "preferred_username": nil}, code: oidc.NoRole, says: "--oidc-name-claim"},
		"a name with a newline":               {claims: map[string]any{"groups": "everybody", "preferred_username": "a\nb"}, code: oidc.NoRole, says: "--oidc-name-claim"},
		"an unverified mail address": {claims: map[string]any{"email": "boss@example.com"}, code: oidc.NoRole,
			says: "neither",
			change: func(o *oidc.Options) {
				o.RolesClaim, o.Roles = "email",
					[]oidc.Role{{Value: "boss@example.com", Grant: auth.Grant{Role: auth.Admin}}}
			}},
		"another audience":      {claims: map[string]any{"groups": "everybody", "aud": "other"}, code: oidc.Refused, says: "audience"},
		"another issuer":        {claims: map[string]any{"groups": "everybody", "iss": "https://evil.example"}, code: oidc.Refused, says: "issue"},
		"expired":               {claims: map[string]any{"groups": "everybody", "exp": time.Now().Add(-time.Minute).Unix()}, code: oidc.Refused, says: "expired"},
		"another nonce":         {claims: map[string]any{"groups": "everybody", "nonce": "n"}, code: oidc.Refused, says: "nonce"},
		"no nonce":              {claims: map[string]any{"groups": "everybody", "nonce": nil}, code: oidc.Refused, says: "nonce"},
		"a wrong client secret": {change: func(o *oidc.Options) { o.Secret = "wrong" }, code: oidc.Refused, says: "--oidc-client-secret-file"},
		"no key to sign with":   {change: func(o *oidc.Options) { o.Sealer = sealer("") }, code: oidc.Unavailable, says: "key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			there := openid.Start(t)
			there.Says(c.claims)
			opts := options(there)
			if c.change != nil {
				c.change(&opts)
			}
			p := open(t, opts)
			if opts.Sealer == sealer("") {
				if _, _, err := p.Begin(); code(err) != c.code {
					t.Error(err)
				}
				return
			}
			f := begin(t, p)
			got, err := p.Finish(t.Context(), f.cookie, f.query)
			if code(err) != c.code || err != nil && (c.code == "" || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%v, want %s, %q", err, c.code, c.says)
			}
			if diff := cmp.Diff(c.want, got); err == nil && diff != "" {
				t.Error(diff)
			}
			if err != nil && got.Role != auth.NoRole {
				t.Errorf("%+v with %v", got, err)
			}
		})
	}
}

// TestForgedTokens checks tokens that are unsigned or signed with another key.
func TestForgedTokens(t *testing.T) {
	t.Parallel()
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for name, forge := range map[string]func(string) string{
		"alg none":                func(s string) string { return part(`{"alg":"none"}`) + "." + strings.Split(s, ".")[1] + "." },
		"alg none, with the rest": func(s string) string { return part(`{"alg":"none"}`) + s[strings.IndexByte(s, '.'):] },
		"signed by a secret":      func(s string) string { return part(`{"alg":"HS256","kid":"one"}`) + s[strings.IndexByte(s, '.'):] },
		"without its signature":   func(s string) string { return s[:strings.LastIndexByte(s, '.')+1] },
		"another body": func(s string) string {
			p := strings.Split(s, ".")
			body, _ := base64.RawURLEncoding.DecodeString(p[1])
			return p[0] + "." + part(strings.Replace(string(body), "alice", "mallory", 1)) + "." + p[2]
		},
		"none at all": func(string) string { return "" },
		"no token":    func(string) string { return "a.b.c" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			there := openid.Start(t)
			there.Says(map[string]any{"groups": "everybody"})
			there.Forge(forge)
			p := open(t, options(there))
			f := begin(t, p)
			if got, err := p.Finish(t.Context(), f.cookie, f.query); code(err) != oidc.Refused {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// TestOnlyTheBrowserThatBeganCanFinish checks that a login can be finished only by its browser, once, and in time.
func TestOnlyTheBrowserThatBeganCanFinish(t *testing.T) {
	t.Parallel()
	there := openid.Start(t)
	there.Says(map[string]any{"groups": "everybody"})
	opts := options(there)
	p := open(t, opts)
	late := opts
	late.Now = func() time.Time { return time.Now().Add(oidc.LoginTimeout + 2*time.Second) }
	afterwards := open(t, late)
	other := opts
	other.Sealer = sealer("another cluster's")
	elsewhere := open(t, other)
	sibling := open(t, opts)

	for name, c := range map[string]struct {
		by     *oidc.Provider
		change func(f *flow)
		code   string
	}{
		"itself":                        {p, func(*flow) {}, ""},
		"another server of the cluster": {sibling, func(*flow) {}, ""},
		"another browser":               {p, func(f *flow) { f.cookie = begin(t, p).cookie }, oidc.BadLogin},
		"no cookie":                     {p, func(f *flow) { f.cookie = "" }, oidc.BadLogin},
		"another cluster":               {elsewhere, func(*flow) {}, oidc.BadLogin},
		"a cookie that lasts longer":    {p, func(f *flow) { f.cookie = strings.Replace(f.cookie, ".1", ".2", 1) }, oidc.BadLogin},
		"half a cookie":                 {p, func(f *flow) { f.cookie = f.cookie[:len(f.cookie)/2] }, oidc.BadLogin},
		"too late":                      {afterwards, func(*flow) {}, oidc.BadLogin},
		"no state":                      {p, func(f *flow) { f.query.Del("state") }, oidc.BadLogin},
		"two states":                    {p, func(f *flow) { f.query.Add("state", f.query.Get("state")) }, oidc.BadLogin},
		"no code":                       {p, func(f *flow) { f.query.Del("code") }, oidc.BadLogin},
		"another login's code":          {p, func(f *flow) { f.query.Set("code", begin(t, p).query.Get("code")) }, oidc.Refused},
		"another issuer":                {p, func(f *flow) { f.query.Set("iss", "https://evil.example") }, oidc.BadLogin},
		"refused there":                 {p, func(f *flow) { f.query.Del("code"); f.query.Set("error", "access_denied") }, oidc.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			f := begin(t, p)
			c.change(&f)
			got, err := c.by.Finish(t.Context(), f.cookie, f.query)
			if code(err) != c.code || (err == nil) != (c.code == "") {
				t.Errorf("%+v, %v; want %q", got, err, c.code)
			}
		})
	}
	t.Run("replayed", func(t *testing.T) {
		f := begin(t, p)
		if _, err := p.Finish(t.Context(), f.cookie, f.query); err != nil {
			t.Fatal(err)
		}
		_, err := p.Finish(t.Context(), f.cookie, f.query)
		if code(err) != oidc.Refused || strings.Contains(err.Error(), "hush") {
			t.Error(err)
		}
	})
}

// TestAProviderThatIsAwayAtTheStart checks that the lookup is retried, and that logins report the failure until then.
func TestAProviderThatIsAwayAtTheStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		opts := oidc.Options{Issuer: "https://away.example", Sealer: sealer("key"),
			HTTP: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				if tries++; tries < 4 {
					return nil, x509.UnknownAuthorityError{}
				}
				w := &recorder{header: http.Header{"Content-Type": {"application/json"}}}
				_, _ = w.Write([]byte(`{"issuer":"https://away.example","authorization_endpoint":"https://away.example/a","token_endpoint":"https://away.example/t","jwks_uri":"https://away.example/k"}`))
				return w.response(r), nil
			})}}
		p := oidc.New(opts)
		var ended sync.WaitGroup
		ended.Go(func() { p.Run(t.Context()) })
		synctest.Wait()
		if _, _, err := p.Begin(); code(err) != oidc.Unavailable ||
			!strings.Contains(err.Error(), "unknown authority") ||
			!strings.Contains(err.Error(), "--ca-file") {
			t.Error(err)
		}
		if _, err := p.Finish(t.Context(), "", nil); code(err) != oidc.Unavailable {
			t.Error(err)
		}
		ended.Wait()
		if _, _, err := p.Begin(); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		oidc.New(opts).Run(ctx) // returns
	})
}

// TestAProviderThatGoesAway checks a provider that fails during a login.
func TestAProviderThatGoesAway(t *testing.T) {
	t.Parallel()
	there := openid.Start(t)
	p := open(t, options(there))
	f := begin(t, p)
	there.SetDown(true)
	if _, err := p.Finish(t.Context(), f.cookie, f.query); code(err) != oidc.Unavailable ||
		strings.Contains(err.Error(), openid.Secret) {
		t.Error(err)
	}
}
