package whole_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/mailserver"
)

// handlerSecret is the only secret of all error handlers.
const handlerSecret = "hunter2-of-the-handler"

// notification contains the checked fields of the body of a webhook's request.
type notification struct {
	JobName, ExecutionID string
	FurtherFailures      int
	Shards               []struct {
		Item         int
		FailureCause string
	}
}

// webhook starts a web server that checks the signature of each notification and sends the notification to received.
func webhook(t *testing.T) (url string, received <-chan notification) {
	t.Helper()
	notifications := make(chan notification, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, []byte(handlerSecret))
		mac.Write(body)
		if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); err != nil ||
			r.Header.Get("X-Elasticjob-Signature") != want {
			t.Errorf("a message signed %q: %s, %v", r.Header.Get("X-Elasticjob-Signature"), body, err)
		}
		var n notification
		if err := json.Unmarshal(body, &n); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		notifications <- n
	}))
	t.Cleanup(s.Close)
	return s.URL + "/?key=" + handlerSecret, notifications
}

// receive waits for a value.
func receive[T any](t *testing.T, what string, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(system.Patience):
		t.Fatalf("%s never came", what)
	}
	return v
}

var failing = only(`echo "it has gone wrong" >&2; exit 7`)

func webhookJob(url string) system.Doc {
	return system.Doc{"jobErrorHandlerType": "WEBHOOK",
		"props": env("webhook.url", url, "webhook.secret", handlerSecret)}
}

// TestFailuresAreNotified: a failed run is notified by webhook and by mail, and no secret leaks [D90].
func TestFailuresAreNotified(t *testing.T) {
	m := start(t)
	url, hooks := webhook(t)
	server := mailserver.Start(t, mailserver.Options{User: "me", Password: handlerSecret})
	m.App("a", failing, nil)
	m.Job("hook", "a", webhookJob(url))
	m.Job("mail", "a", system.Doc{"jobErrorHandlerType": "EMAIL",
		"props": env("email.host", server.Host, "email.port", server.Port, "email.useSsl", "false",
			"email.allowPlaintextLogin", "true", "email.username", "me", "email.password", handlerSecret,
			"email.from", "jobs@example.com", "email.to", "ops@example.com,me@example.com")})
	run := m.Run("hook", "FAILED")
	got := receive(t, "the webhook's message", hooks)
	if got.JobName != "hook" || got.ExecutionID != run.ExecutionID || len(got.Shards) != 1 ||
		!strings.Contains(got.Shards[0].FailureCause, "it has gone wrong") {
		t.Errorf("the webhook was told %+v", got)
	}
	run = m.Run("mail", "FAILED")
	mail := receive(t, "the mail", server.Mails)
	if len(mail.To) != 2 || !mail.Authenticated || !strings.Contains(mail.Data, run.ExecutionID) ||
		!strings.Contains(mail.Data, "it has gone wrong") {
		t.Errorf("mail: %+v", mail)
	}
	m.Until("both messages are counted", func() string {
		if n := m.Metric("elasticjob_notifications_sent_total"); n != "2" {
			return n
		}
		return ""
	})
	// Failures within the next minute are counted in one message, which is sent later, even by another leader.
	m.Run("hook", "FAILED")
	run = m.Run("hook", "FAILED")
	m.Kill()
	m.Start()
	if got = receive(t, "the second message", hooks); got.ExecutionID != run.ExecutionID || got.FurtherFailures != 1 {
		t.Errorf("the webhook was told %+v", got)
	}
	for _, path := range []string{"/api/job/jobs", "/api/job/jobs/hook", "/api/job/jobs/mail",
		"/api/job/mail/explain"} {
		if text := m.OK("GET", path, ""); strings.Contains(text, handlerSecret) {
			t.Errorf("GET %s: %s", path, text)
		}
	}
	m.Stop()
	err := filepath.WalkDir(filepath.Join(m.Dir, "cluster"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(handlerSecret)) {
			t.Errorf("a secret reached the agent: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestLeaderKilledBeforeNotification: the next leader sends the notification, even if the last leader may have sent it
// (N1).
func TestLeaderKilledBeforeNotification(t *testing.T) {
	for point, times := range map[string]int{"before-notify": 1, "after-notify": 2} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			m := system.New(t, bin)
			cmd := m.Command()
			cmd.Env = append(cmd.Env, "ELASTICJOB_FAILPOINT="+point)
			m.LaunchCommand(cmd)
			m.Ready()
			url, hooks := webhook(t)
			m.App("a", failing, nil)
			m.Job("hook", "a", webhookJob(url))
			id := m.Trigger("hook")
			if status := m.AwaitEnd(); status != -1 {
				t.Fatalf("the server ended with %d, not by its failure point", status)
			}
			m.Start()
			for range times {
				if got := receive(t, "the message", hooks); got.ExecutionID != id || got.FurtherFailures != 0 {
					t.Errorf("the webhook was told %+v", got)
				}
			}
			if state := m.Execution(id).State; state != "FAILED" {
				t.Errorf("the run is %s", state)
			}
		})
	}
}
