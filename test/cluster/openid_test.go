package cluster_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/openid"
)

// TestOpenID: a login that begins at one server ends at another and is valid at all of them. With a provider every
// request needs a login, even if the registry has no user. Forged forwarded requests are rejected.
func TestOpenID(t *testing.T) {
	t.Parallel()
	provider := openid.Start(t)
	c := system.NewCluster(t, bin, 1, nil)
	const callback = "http://localhost:1/api/oidc/callback"
	c.StartServers(2, "--oidc-issuer", provider.URL, "--oidc-client-id", openid.Client,
		"--oidc-client-secret-file", c.Secret("oidc", openid.Secret),
		"--oidc-redirect-url", callback, "--oidc-role", "admins=admin", "--oidc-role", "ops=operator")
	leader := c.AwaitLeader()
	follower := 3 - leader
	for n := 1; n <= 2; n++ {
		c.Via(n)
		c.Refused(http.StatusUnauthorized, "token_missing", "GET", "/api/job/jobs", "")
	}
	browser := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	login := func(groups ...string) (*http.Response, []*http.Cookie) {
		provider.Says(map[string]any{"groups": groups})
		var answer *http.Response
		get := func(address string, cookies ...*http.Cookie) {
			r, err := http.NewRequest("GET", address, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, cookie := range cookies {
				r.AddCookie(cookie)
			}
			// A browser sends these headers when a page of another site leads to the address.
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
			if answer, err = browser.Do(r); err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
		}
		for _, n := range []int{follower, leader} { // each server looks the provider up when it starts
			c.Until("a login begins", func() string {
				get(c.ServerURL(n) + "/api/oidc/login")
				if answer.StatusCode != http.StatusFound {
					return answer.Status
				}
				return ""
			})
		}
		kept := answer.Cookies()
		get(answer.Header.Get("Location"))
		if !strings.HasPrefix(answer.Header.Get("Location"), callback+"?") {
			t.Fatalf("the provider redirects to %q", answer.Header.Get("Location"))
		}
		get(strings.Replace(answer.Header.Get("Location"), "http://localhost:1", c.ServerURL(follower), 1), kept...)
		return answer, answer.Cookies()
	}
	answer, cookies := login("ops")
	// The relative address leads to the console, also if a proxy serves it below a path.
	if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "../../" {
		t.Fatalf("%s to %q", answer.Status, answer.Header.Get("Location"))
	}
	session := ""
	for _, cookie := range cookies {
		if cookie.Name == "elasticjob" {
			session = "Cookie: " + cookie.Name + "=" + cookie.Value
		}
	}
	for n := 1; n <= 2; n++ {
		c.Via(n)
		own, err := url.Parse(c.ServerURL(n))
		if err != nil {
			t.Fatal(err)
		}
		if text := c.OK("GET", "/api/session", "", session); !strings.Contains(text,
			`"name":"alice","kind":"oidc","role":"operator"`) {
			t.Error(text)
		}
		c.OK("GET", "/api/job/jobs", "", session)
		c.Refused(http.StatusForbidden, "not_allowed", "POST", "/api/app", "{}", session, "Origin: "+own.String())
		c.Refused(http.StatusForbidden, "bad_forwarding", "GET", "/api/job/jobs", "", session,
			"X-Elasticjob-Forwarded-By: 127.0.0.1:1", "X-Elasticjob-Forwarded-For: 10.0.0.1",
			"X-Elasticjob-Forwarded-Proof: AAAA")
	}
	if answer, cookies = login("guests"); answer.StatusCode != http.StatusForbidden {
		t.Errorf("%s, %v", answer.Status, cookies)
	}
}
