package apihttp

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func ok(w http.ResponseWriter, _ *http.Request) { Accepted(w) }

func TestGuardChallengesAsMesosDoes(t *testing.T) {
	t.Parallel()
	c := &Credentials{"elasticjob", "s3cret"}
	for name, tt := range map[string]struct {
		user, secret string
		send         bool
		status       int
	}{
		"none":            {status: 401},
		"right":           {"elasticjob", "s3cret", true, 202},
		"wrong secret":    {"elasticjob", "s3cres", true, 401},
		"wrong principal": {"elasticjobs", "s3cret", true, 401},
		"empty":           {"", "", true, 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest("POST", "/", nil)
			if tt.send {
				r.SetBasicAuth(tt.user, tt.secret)
			}
			w := httptest.NewRecorder()
			c.Guard(RealmScheduler, http.HandlerFunc(ok)).ServeHTTP(w, r)
			if w.Code != tt.status {
				t.Fatalf("answered %d, want %d", w.Code, tt.status)
			}
			if w.Code == 401 {
				if got := w.Header().Get("WWW-Authenticate"); got != `Basic realm="mesos-master-scheduler"` {
					t.Errorf("challenge %q", got)
				}
				if w.Body.String() != "401 Unauthorized." {
					t.Errorf("body %q", w.Body)
				}
			}
		})
	}
	r := httptest.NewRequest("POST", "/", nil)
	r.SetBasicAuth("elasticjob", "s3cret")
	r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "Basic", "basic", 1))
	lower := httptest.NewRecorder()
	if c.Guard(RealmFiles, http.HandlerFunc(ok)).ServeHTTP(lower, r); lower.Code != 401 {
		t.Errorf("another spelling of Basic is answered %d", lower.Code)
	}
	var none *Credentials
	w := httptest.NewRecorder()
	none.Guard(RealmScheduler, http.HandlerFunc(ok)).ServeHTTP(w, httptest.NewRequest("POST", "/", nil))
	if w.Code != 202 {
		t.Errorf("without credentials answered %d", w.Code)
	}
}

func TestCredentialsHideTheirSecret(t *testing.T) {
	t.Parallel()
	c := Credentials{"elasticjob", "s3cret"}
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", &c), fmt.Sprintf("%#v", c), c.LogValue().String()} {
		if strings.Contains(text, "s3cret") {
			t.Errorf("shows as %s", text)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	key := TokenKey("a key of this agent")
	mine := Claims{"framework", "executor", "container"}
	token := key.Token(mine)
	header, rest, _ := strings.Cut(token, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	other, _, _ := strings.Cut(strings.TrimPrefix(key.Token(Claims{"framework", "another", "container"}), header+"."), ".")
	for name, tt := range map[string]struct{ header, fault string }{
		"right":              {"Bearer " + token, ""},
		"none":               {"", "-"},
		"another scheme":     {"Basic " + token, "Scheme 'Basic' unsupported"},
		"two words":          {"Bearer a b", "Malformed 'Authorization' header"},
		"no JWT":             {"Bearer abc", "Invalid JWT: Expected 3 components in token, got 1"},
		"another key's":      {"Bearer " + TokenKey("x").Token(mine), "Invalid JWT: Token signature does not match"},
		"unsigned":           {"Bearer " + header + "." + payload + ".", "Invalid JWT: Token signature does not match"},
		"changed claims":     {"Bearer " + header + "." + other + "." + signature, "Invalid JWT: Token signature does not match"},
		"algorithm \"none\"": {"Bearer eyJhbGciOiJub25lIn0." + payload + ".", `Invalid JWT: Token 'alg' value "none" does not match, expected "HS256"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest("POST", "/", nil)
			if tt.header != "" {
				r.Header.Set("Authorization", tt.header)
			}
			w := httptest.NewRecorder()
			claims, admitted := key.Admit(w, r)
			challenge := w.Header().Get("WWW-Authenticate")
			switch {
			case tt.fault == "":
				if !admitted || claims != mine {
					t.Errorf("%v %v %s", admitted, claims, challenge)
				}
			case admitted || w.Code != 401:
				t.Errorf("admitted with %d", w.Code)
			case tt.fault == "-":
				if challenge != `Bearer realm="mesos-agent-executor"` {
					t.Errorf("challenge %s", challenge)
				}
			case challenge != `Bearer realm="mesos-agent-executor", error="invalid_token", error_description="`+tt.fault+`"`:
				t.Errorf("challenge %s", challenge)
			}
		})
	}
	for _, of := range [][3]string{{"x", "executor", "container"}, {"framework", "x", "container"}, {"framework", "executor", "x"}} {
		if mine.Fault(of[0], of[1], of[2]) == "" {
			t.Errorf("is taken for %v", of)
		}
	}
	if fault := mine.Fault("framework", "executor", "container"); fault != "" {
		t.Error(fault)
	}
	if got, want := mine.Fault("framework", "x", "container"), `Authenticated principal '{"claims":{"cid":"container","eid":"executor","fid":"framework"}}' does not contain an 'eid' claim with the executor ID x, which is set in the call`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
