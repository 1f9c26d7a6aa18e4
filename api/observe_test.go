package api_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/auth"
)

// TestLogNamesWhoAsks: the log has the caller, the address and the reason of each refusal, and never a secret,
// wherever a client writes one.
func TestLogNamesWhoAsks(t *testing.T) {
	t.Parallel()
	var log lockedBuilder
	access := realAccess(t, auth.Options{})
	user(t, access, "alice", auth.Admin)
	given := token(t, access, "ci", auth.Viewer)
	server := start(t, api.Options{Scheduler: newFakeScheduler(), Access: access,
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	bearer := "Authorization: Bearer " + given
	login := logIn(t, server, "alice")
	call(t, server, "GET", "/api/app/list?accessToken="+given, "", bearer)
	call(t, server, "GET", "/api/app/list", "", "Cookie: elasticjob="+login)
	call(t, server, "DELETE", "/api/tokens/"+given, "", "accessToken: "+login)
	call(t, server, "GET", "/"+login, "", bearer)
	call(t, server, "GET", "/made-up-by-a-stranger", "")
	call(t, server, "POST", "/api/job/my_job/trigger", "", bearer)
	call(t, server, "POST", "/api/login", `{"username":"alice","password":"wrong-secret"}`)
	call(t, server, "POST", "/api/users", `{"name":"x","password":"short-secret","role":"x"}`, "accessToken: "+login)
	text := log.String()
	for _, secret := range []string{given, given[20:], login, login[4:40], "password of", "-secret", "made-up"} {
		if strings.Contains(text, secret) {
			t.Errorf("the log has %q:\n%s", secret, text)
		}
	}
	for _, line := range []string{
		`level=INFO msg="request refused" reason=not_allowed method=POST route=/api/job/{jobName}/trigger who=ci kind=token from=127.0.0.1`,
		`level=INFO msg="request refused" reason=bad_credentials method=POST route=/api/login who="" kind="" from=127.0.0.1`,
		`level=INFO msg="request refused" reason=token_missing method=GET route=none`,
		`path=/api/app/list status=200`, `who=alice kind=user from=127.0.0.1`,
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the log lacks %s:\n%s", line, text)
		}
	}
}
