package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/registry"
)

// TestUsersAndTokens: an admin for all apps manages users and tokens. The first user is created from this machine, and
// from then on a login is required.
func TestUsersAndTokens(t *testing.T) {
	t.Parallel()
	shared := &sharedInMemory{}
	access := realAccess(t, auth.Options{Shared: shared})
	server := start(t, api.Options{Scheduler: newFakeScheduler(), Access: access})
	var headers []string
	ok := func(method, path, body, want string) map[string]any {
		t.Helper()
		answer, text := call(t, server, method, path, body, headers...)
		if answer.StatusCode != 200 || !strings.Contains(text, want) || strings.Contains(text, "password of") ||
			strings.Contains(text, "argon2") {
			t.Fatalf("%s %s %s: %d %s", method, path, body, answer.StatusCode, text)
		}
		var object map[string]any
		_ = json.Unmarshal([]byte(text), &object) // nil for lists
		return object
	}
	refused := func(method, path, body string, status int, code string) answeredError {
		t.Helper()
		answer, text := call(t, server, method, path, body, headers...)
		e := readError(t, answer, text)
		if answer.StatusCode != status || e.Error.Code != code || strings.Contains(text, "secret") {
			t.Errorf("%s %s %s: %d %s", method, path, body, answer.StatusCode, text)
		}
		return e
	}
	ok("GET", "/api/session", "", `{"name":"","kind":"machine","role":"admin"}`)
	ok("GET", "/api/users", "", "[]")
	ok("POST", "/api/users", `{"name":"alice","password":"password of alice","role":"admin"}`,
		`{"name":"alice","role":"admin","created":"`)
	refused("GET", "/api/users", "", 401, "token_missing")
	headers = []string{"accessToken: " + logIn(t, server, "alice")}
	ok("POST", "/api/users", `{"name":"bob","password":"password of bob","role":"operator","apps":["billing-*"]}`,
		`"role":"operator","apps":["billing-*"],`)
	refused("POST", "/api/users", `{"name":"bob","password":"password of bob","role":"admin"}`, 409, "user_exists")
	bob := []string{"accessToken: " + logIn(t, server, "bob")}
	ok("GET", "/api/users/bob", "", `{"name":"bob","role":"operator","apps":["billing-*"],`)
	ok("PUT", "/api/users/bob", `{"role":"viewer"}`, `{"name":"bob","role":"viewer","created":`)
	if answer, text := call(t, server, "GET", "/api/app/list", "", bob...); answer.StatusCode != 401 {
		t.Errorf("a login outlives its role: %s", text)
	}
	bob = []string{"accessToken: " + logIn(t, server, "bob")}

	// Users can change their own password if they know it, and no other user's.
	alice := headers
	headers = bob
	refused("PUT", "/api/users/alice/password", `{"password":"another one"}`, 403, "not_allowed")
	refused("PUT", "/api/users/bob/password", `{"password":"another one"}`, 422, "invalid")
	refused("PUT", "/api/users/bob/password", `{"password":"another one","current":"secret"}`, 422, "invalid")
	e := refused("PUT", "/api/users/bob/password", `{"password":"secret","currant":"x"}`, 422, "invalid")
	if len(e.Error.Fields) != 3 {
		t.Errorf("not all at once: %v", e.Error.Fields)
	}
	ok("PUT", "/api/users/bob/password", `{"password":"password of bob again","current":"password of bob"}`, "true")
	headers = alice
	ok("PUT", "/api/users/bob/password", `{"password":"password of bob"}`, "true") // as an admin
	logIn(t, server, "bob")
	// Admins, too, must send their current password to change it.
	refused("PUT", "/api/users/alice/password", `{"password":"another one"}`, 422, "invalid")
	refused("PUT", "/api/users/nobody/password", `{"password":"another one"}`, 404, "user_not_found")

	// One answer reports all violations, and it shows no secret.
	e = refused("POST", "/api/users", `{"name":"no/name","password":"secret","role":"root","apps":["a/b"],"rolle":1}`,
		422, "invalid")
	fields := []string{}
	for _, f := range e.Error.Fields {
		fields = append(fields, f.Field)
	}
	if slices.Sort(fields); fmt.Sprint(fields) != "[apps name password role rolle]" {
		t.Errorf("violations of %v", fields)
	}
	for body, field := range map[string]string{`{"name":"x","password":"long enough"}`: "role",
		`{"name":"x","password":"long enough","role":"admin","apps":[]}`:  "apps",
		`{"name":"x","password":"long enough","role":"admin","apps":"a"}`: "apps",
		`{"password":"long enough","role":"admin"}`:                       "name",
		`{"name":"x","role":"admin"}`:                                     "password"} {
		if e := refused("POST", "/api/users", body, 422, "invalid"); len(e.Error.Fields) != 1 ||
			e.Error.Fields[0].Field != field {
			t.Errorf("%s: %v", body, e.Error.Fields)
		}
	}
	refused("PUT", "/api/users/nobody", `{"role":"admin"}`, 404, "user_not_found")
	refused("GET", "/api/users/nobody", "", 404, "user_not_found")
	ok("DELETE", "/api/users/bob", "", "true")
	refused("DELETE", "/api/users/bob", "", 404, "user_not_found")

	made := ok("POST", "/api/tokens",
		`{"name":"ci","role":"operator","apps":["billing-*"],"expires":"2999-01-01T00:00:00Z"}`,
		`"expires":"2999-01-01T00:00:00Z"`)
	secret, _ := made["token"].(string)
	if !strings.HasPrefix(secret, "ejt_") {
		t.Fatalf("made %v", made)
	}
	if answer, text := call(t, server, "GET", "/api/session", "",
		"Authorization: Bearer "+secret); answer.StatusCode != 200 || !strings.Contains(text,
		`{"name":"ci","kind":"token","role":"operator","apps":["billing-*"]`) {
		t.Errorf("the token is not taken: %s", text)
	}
	if _, text := call(t, server, "GET", "/api/tokens", "", headers...); strings.Contains(text, secret[20:]) ||
		!strings.Contains(text, `"by":"alice"`) {
		t.Errorf("tokens: %s", text)
	}
	refused("POST", "/api/tokens", `{"name":"ci","role":"viewer"}`, 409, "token_exists")
	refused("POST", "/api/tokens", `{"name":"old","role":"viewer","expires":"2000-01-01T00:00:00Z"}`, 422, "invalid")
	refused("POST", "/api/tokens", `{"name":"old","role":"viewer","expires":"tomorrow"}`, 422, "invalid")
	ok("DELETE", "/api/tokens/ci", "", "true")
	refused("DELETE", "/api/tokens/ci", "", 404, "token_not_found")

	// Records of these changes, without passwords, wait for a leader to store them.
	rows, _ := json.Marshal(access.PendingAudit())
	if text := string(rows); !strings.Contains(text,
		`"name":"alice","kind":"user","from":"127.0.0.1","action":"user.remove"`) || strings.Contains(text,
		"password of") || strings.Contains(text, secret[4:]) {
		t.Errorf("audit: %s", text)
	}
	shared.fail(errors.New("no answer from h1"))
	refused("DELETE", "/api/users/alice", "", 503, "registry_silent")
	shared.fail(fmt.Errorf("cut off: %w", registry.ErrNotFound))
	refused("DELETE", "/api/users/alice", "", 503, "registry_silent")
}

// TestSocketIsAnAdmins: requests over the socket in the data directory count as an admin's, even if there are users,
// under the name of the connected user.
func TestSocketIsAnAdmins(t *testing.T) {
	t.Parallel()
	access := realAccess(t, auth.Options{FileToken: "of-the-file"})
	b := newFakeScheduler()
	client, stop := overSocket(t, api.New(api.Options{Scheduler: b, Access: access}))
	for route, want := range map[string]string{"GET /api/session": `{"name":"carol","kind":"machine","role":"admin"}`,
		"GET /api/users": "[]", "GET /api/app/list": "[]"} {
		method, path, _ := strings.Cut(route, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, "http://socket"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		_ = answer.Write(&got)
		if answer.StatusCode != 200 || !strings.Contains(got.String(), want) {
			t.Errorf("%s: %s", route, got.String())
		}
	}
	answer, err := client.Post("http://socket/api/users", "application/json",
		strings.NewReader(`{"name":"alice","password":"password of alice","role":"admin"}`))
	if err != nil || answer.StatusCode != 200 {
		t.Fatal(answer, err)
	}
	_ = answer.Body.Close()
	if rows := access.PendingAudit(); len(rows) != 1 || rows[0].Name != "carol" || rows[0].Kind != "machine" ||
		rows[0].From != "socket" {
		t.Errorf("audit %+v", rows)
	}
	stop()
}
