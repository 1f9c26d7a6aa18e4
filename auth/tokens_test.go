package auth_test

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/auth"
)

func contains(text string, secrets ...string) bool {
	for _, s := range secrets {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// TestTokens checks which tokens are accepted, and the codes of refusals.
func TestTokens(t *testing.T) {
	t.Parallel()
	c := newClock()
	d := open(t, auth.Options{Now: c.Now, FileToken: "token-of-a-file", LoginLifetime: time.Hour})
	other := open(t, auth.Options{Now: c.Now})
	ctx := t.Context()
	for _, name := range []string{"ann", "ben", "cid", "dan"} {
		addUser(t, d, name, viewer)
		addUser(t, other, name, viewer)
	}
	token := func(d *auth.Access, name string, expires time.Time) string {
		secret, _, err := d.AddToken(ctx, actor, name, admin, expires)
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	forever, short, gone := token(d, "forever", time.Time{}), token(d, "short", c.Now().Add(time.Minute)),
		token(d, "gone", time.Time{})
	foreign := token(other, "forever", time.Time{})
	good, p := login(t, d, "ann")
	out, outPrincipal := login(t, d, "ann")
	changed, _ := login(t, d, "ben")
	renewed, _ := login(t, d, "cid")
	removed, _ := login(t, d, "dan")
	foreignLogin, _ := login(t, other, "ann")
	outside, _, err := d.Issue(auth.Principal{Name: "eve@example.com", Kind: auth.OIDC, Grant: viewer}, 0)
	if err != nil {
		t.Fatal(err)
	}
	addAgain := func() error {
		if err := d.RemoveUser(ctx, actor, "dan"); err != nil {
			return err
		}
		_, err := d.AddUser(ctx, actor, "dan", password, viewer)
		return err
	}
	_, err = d.ChangeUser(ctx, actor, "ben", admin)
	for _, err := range []error{err, d.SetPassword(ctx, actor, "cid", password), addAgain(),
		d.RemoveToken(ctx, actor, "gone"), d.Logout(ctx, outPrincipal)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	flipped := func(token string, at int) string {
		b := []byte(token)
		b[at] ^= 1
		return string(b)
	}
	check := func(t *testing.T, cases map[string][2]string) {
		for what, c := range cases {
			if p, err := d.Authenticate(c[0]); c[1] == "" && err != nil {
				t.Errorf("%s: %v", what, err)
			} else if c[1] != "" {
				wantCode(t, what, err, c[1])
				if p.Role != auth.NoRole || contains(err.Error(), c[0]) && c[0] != "" {
					t.Errorf("%s: %+v, %v", what, p, err)
				}
			}
		}
	}
	check(t, map[string][2]string{
		"token file":        {"token-of-a-file", ""},
		"API token":         {forever, ""},
		"short API token":   {short, ""},
		"login":             {good, ""},
		"of a provider":     {outside, ""},
		"nothing":           {"", auth.BadToken},
		"a word":            {"root", auth.BadToken},
		"removed API token": {gone, auth.BadToken},
		"other cluster's":   {foreign, auth.BadToken},
		"other's login":     {foreignLogin, auth.BadToken},
		"cut API token":     {forever[:len(forever)-1], auth.BadToken},
		"changed API token": {flipped(forever, len(forever)-1), auth.BadToken},
		"upper case":        {strings.ToUpper(forever), auth.BadToken},
		"only its prefix":   {"ejt_", auth.BadToken},
		"cut login":         {good[:len(good)-1], auth.BadToken},
		"changed signature": {flipped(good, len(good)-5), auth.BadToken},
		"changed claims":    {flipped(good, 10), auth.BadToken},
		"without signature": {good[:strings.IndexByte(good, '.')+1], auth.BadToken},
		"two signatures":    {good + good[strings.IndexByte(good, '.'):], auth.BadToken},
		"prefix of a login": {"ejl_", auth.BadToken},
		"1 MB":              {"ejl_" + strings.Repeat("a", 1<<20), auth.BadToken},
		"logged out":        {out, auth.TokenRevoked},
		"role changed":      {changed, auth.TokenRevoked},
		"password changed":  {renewed, auth.TokenRevoked},
		"removed and added": {removed, auth.TokenRevoked},
		"empty claims":      {"ejl_e30.e30", auth.BadToken},
	})
	if p.Expires.Sub(c.Now()) != time.Hour {
		t.Errorf("the login expires at %v", p.Expires)
	}
	c.add(-59 * time.Second)
	check(t, map[string][2]string{"from a clock that is 59 s ahead": {good, ""}})
	c.add(-2 * time.Second)
	check(t, map[string][2]string{"from a clock that is 61 s ahead": {good, auth.BadToken}})
	c.add(3 * time.Minute)
	refresh(t, d)
	check(t, map[string][2]string{"expired API token": {short, auth.TokenExpired},
		"its secret changed": {flipped(short, len(short)-1), auth.BadToken}, "login": {good, ""}})
	c.add(time.Hour)
	refresh(t, d)
	check(t, map[string][2]string{"expired login": {good, auth.TokenExpired}, "API token": {forever, ""},
		"expired and logged out": {out, auth.TokenExpired}})
}

func FuzzAuthenticate(f *testing.F) {
	d := open(f, auth.Options{FileToken: "token-of-a-file"})
	secret, _, err := d.AddToken(f.Context(), actor, "ci", admin, time.Time{})
	if err != nil {
		f.Fatal(err)
	}
	in, _, err := d.Issue(auth.Principal{Name: "eve", Kind: auth.OIDC, Grant: viewer}, 0)
	if err != nil {
		f.Fatal(err)
	}
	good := map[string]bool{secret: true, in: true, "token-of-a-file": true}
	for token := range good {
		f.Add(token)
		f.Add(token[:len(token)/2])
	}
	f.Add("ejl_e30.e30")
	f.Fuzz(func(t *testing.T, token string) {
		if p, err := d.Authenticate(token); (err == nil) != good[token] || err != nil && p.Role != auth.NoRole {
			t.Errorf("%q: %+v, %v", token, p, err)
		}
	})
}
