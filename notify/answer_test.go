package notify

import (
	"errors"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
)

// TestAnswersOf2xx checks that an answer of 2xx is a failure only if its body clearly says so, because a message that
// has arrived must not be sent again.
func TestAnswersOf2xx(t *testing.T) {
	t.Parallel()
	const taken, retried, final = "", "retried", "final"
	for body, want := range map[string]string{
		"": taken, "ok": taken, "OK": taken, "1": taken, "hello": taken, "[]": taken, "null": taken, "{}": taken,
		"no error": taken, "<html>error</html>": taken, strings.Repeat("error ", 100): taken, `"ok"`: taken,
		`{"errcode":0,"errmsg":"ok"}`: taken, `{"code":0,"msg":"success"}`: taken, `{"code":200}`: taken,
		`{"StatusCode":0,"StatusMessage":"success","code":0}`: taken, `{"code":1,"success":true}`: taken,
		`{"code":1,"msg":"success"}`: taken, `{"ok":true,"error":null}`: taken, `{"error":""}`: taken,
		`{"error":false,"errors":[]}`: taken, `{"status":"success","message":"Event processed"}`: taken,
		`{"status":202}`: taken, `{"code":"A1"}`: taken, `{"message":"an error was reported"}`: taken,
		`{"errcode":"0"}`: taken, `{"error_code":0}`: taken,

		`{"errcode":45009,"errmsg":"api freq out of limit"}`: retried, `{"errcode":-1}`: retried,
		`{"errcode":130101}`: retried, `{"code":11232,"msg":"frequency limited"}`: retried, `{"code":500}`: retried,
		`{"errorCode":"7"}`: retried, `{"error":"down"}`: retried, `{"error":{"code":5}}`: retried,
		`{"errors":["x"]}`: retried, `{"success":false}`: retried, `{"success":"false"}`: retried,
		`{"status":"error"}`: retried, `{"status":"FAILED"}`: retried, `{"status":503}`: retried,
		`{"ok":false}`: retried, `{"ok":false,"error":"ratelimited"}`: retried, "\ufeff{\"error\":true}": retried,
		"Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429": retried,
		"invalid_payload": retried, "error": retried, `"error"`: retried,

		`{"errcode":93000}`: final, `{"errcode":310000,"errmsg":"keywords not in content"}`: final,
		`{"errcode":300001}`: final, `{"code":19021,"msg":"sign match fail"}`: final, `{"StatusCode":19024}`: final,
		`{"code":9499,"msg":"Bad Request"}`: final, `{"ok":false,"error":"invalid_auth"}`: final,
	} {
		check(t, "hook.example.com", body, want)
	}
	for body, want := range map[string]string{"ok": taken, "OK\n": taken, `{"ok":true}`: taken, "no_text": final,
		"": final, "hello": final, "rate_limited": retried} {
		check(t, "hooks.slack.com", body, want)
	}
}

func check(t *testing.T, host, body, want string) {
	t.Helper()
	got := ""
	if err := checkAnswer("the webhook", host, []byte(body)); err != nil {
		got = "retried"
		if e, ok := errors.AsType[*notifications.Error](err); ok && e.Final {
			got = "final"
		}
	}
	if got != want {
		t.Errorf("%s %q: %q, want %q", host, body, got, want)
	}
}

func TestFinalStatuses(t *testing.T) {
	t.Parallel()
	for status, final := range map[int]bool{400: true, 401: true, 403: true, 404: true, 410: true, 413: true,
		408: false, 429: false, 500: false, 502: false, 503: false, 101: false} {
		e, ok := errors.AsType[*notifications.Error](checkStatus("it", status))
		if !ok || e.Final != final {
			t.Errorf("%d: %+v", status, e)
		}
	}
	if err := errors.Join(checkStatus("it", 200), checkStatus("it", 204)); err != nil {
		t.Error(err)
	}
}
