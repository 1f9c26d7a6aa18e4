package apihttp

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func ok(w http.ResponseWriter, _ *http.Request) { Answer(w, http.StatusAccepted, "") }

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
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", &c), fmt.Sprintf("%#v", c),
		c.LogValue().String()} {
		if strings.Contains(text, "s3cret") {
			t.Errorf("shows as %s", text)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	key := TokenKey("a key of this agent")
	token := key.Token("container")
	_, signature, _ := strings.Cut(token, ".")
	for name, tt := range map[string]struct {
		header string
		want   string
	}{
		"right":             {"Bearer " + token, "container"},
		"none":              {"", ""},
		"another scheme":    {"Basic " + token, ""},
		"another key's":     {"Bearer " + TokenKey("x").Token("container"), ""},
		"unsigned":          {"Bearer container.", ""},
		"no signature":      {"Bearer container", ""},
		"another container": {"Bearer another." + signature, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest("POST", "/", nil)
			if tt.header != "" {
				r.Header.Set("Authorization", tt.header)
			}
			w := httptest.NewRecorder()
			container, admitted := key.Admit(w, r)
			if container != tt.want || admitted != (tt.want != "") {
				t.Errorf("%q, %v", container, admitted)
			}
			if challenge := w.Header().Get("WWW-Authenticate"); !admitted &&
				(w.Code != 401 || challenge != `Bearer realm="mesos-agent-executor"`) {
				t.Errorf("%d, challenge %s", w.Code, challenge)
			}
		})
	}
}
