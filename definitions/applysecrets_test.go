package definitions_test

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/definitions"
)

// billingWithSecrets contains secrets in clear.
const billingWithSecrets = billing + "  API_TOKEN: first-token\n  USER:\n    value: me\n    secret: true\n"

func TestSecretsMakeNoFalseDifferenceAndArePreserved(t *testing.T) {
	t.Parallel()
	server := newServer()
	shown, _ := apply(t, server, billingWithSecrets, options{})
	if strings.Contains(shown, "first-token") || strings.Contains(shown, `"me"`) {
		t.Errorf("a secret is shown:\n%s", shown)
	}
	server.changes()

	// The secrets cannot be compared with the server's.
	other := strings.Replace(billingWithSecrets, "first-token", "second-token", 1)
	shown, _ = apply(t, server, other, options{})
	if want := "  job nightly: env.API_TOKEN, env.USER: the server hides"; !strings.HasPrefix(shown, want) ||
		len(server.changes()) > 0 {
		t.Errorf("shown\n%s", shown)
	}

	// If another entry of the same map changes, the secrets stay unchanged.
	apply(t, server, strings.Replace(other, "LEVEL: debug", "LEVEL: info", 1), options{})
	env := server.jobs["nightly"].Env
	if env["API_TOKEN"].Value != "first-token" || env["USER"].Value != "me" || !env["USER"].Secret ||
		env["LEVEL"].Value != "info" {
		t.Errorf("env is %+v", env)
	}
	if made := strings.Join(server.changes(), "\n"); strings.Contains(made, "-token") {
		t.Errorf("a secret was sent: %s", made)
	}

	apply(t, server, other, options{PlanOptions: definitions.PlanOptions{SendSecrets: true}})
	if got := server.jobs["nightly"].Env["API_TOKEN"].Value; got != "second-token" {
		t.Errorf("the token is %s", got)
	}
}

// TestSecretsThatAreSentElsewhere checks a change of the address to which a secret is sent. The secret is sent with
// the change if the file contains it in clear; ****** in the file is a problem.
func TestSecretsThatAreSentElsewhere(t *testing.T) {
	t.Parallel()
	server := newServer()
	hook := billing + "props:\n  webhook.url: https://a.example/hook\n  webhook.secret: first-secret\njobErrorHandlerType: WEBHOOK\n"
	apply(t, server, hook, options{})
	otherAddress := strings.Replace(hook, "a.example", "b.example", 1)
	hidden := strings.Replace(otherAddress, "first-secret", "'******'", 1)
	_, err := definitions.NewPlan(read(t, hidden), fetch(t, server), definitions.PlanOptions{})
	if err == nil || !strings.Contains(err.Error(),
		"job nightly: props.webhook.secret: holds ******, which keeps the stored secret only while") {
		t.Errorf("a placeholder: %v", err)
	}
	if shown, _ := apply(t, server, otherAddress, options{}); strings.Contains(shown, "hides") ||
		!strings.Contains(shown, "webhook.secret") || strings.Contains(shown, "first-secret") {
		t.Errorf("shown\n%s", shown)
	}
	if got := server.jobs["nightly"].Props; got["webhook.url"].Value != "https://b.example/hook" ||
		got["webhook.secret"].Value != "first-secret" {
		t.Errorf("props are %+v", got)
	}
}
