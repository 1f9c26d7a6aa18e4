package jobs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// withSecrets returns a job with secrets wherever a document may contain them.
func withSecrets() jobs.Config {
	c := stored()
	c.JobParameter, c.ShardingItemParameters = `from https://me:hunter2@h/x {"db":{"password":"hunter2"}}`,
		"0=ftp://me:hunter2@h --token hunter2"
	c.Description = "see https://h/x?token=hunter2"
	c.Env = document.Texts{
		"LEVEL": {Value: "debug"}, "DB_PASSWORD": {Value: "hunter2"}, "MARKED": {Value: "hunter2", Secret: true}, "DB_URL": {Value: "mysql://me:hunter2@h/x"},
		"JAVA_OPTS":       {Value: "-Xmx1g -Ddb.password=hunter2"},
		"FROM_FILE_TOKEN": {FromFile: "/etc/elasticjob/secrets/token"}, "FROM_ENV": {FromEnv: "TOKEN"}, "EMPTY_TOKEN": {}, "EMPTY": {Secret: true},
	}
	c.Props = document.Texts{
		"a": {Value: "b"}, "apiKey": {Value: "hunter2"}, "marked": {Value: "hunter2", Secret: true}, "source": {Value: "https://h/?access_token=hunter2&a=b"},
		jobs.PropScript: {Value: `sh -c 'curl -u me:hunter2 -H "Authorization: Bearer hunter2" h && PGPASSWORD=hunter2 psql --db-password hunter2'`},
	}
	return c
}

func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	c := withSecrets()
	shown := c.WithoutSecrets()
	text, err := json.Marshal(shown)
	if err != nil || strings.Contains(string(text), "hunter2") ||
		strings.Contains(fmt.Sprintf("%+v", shown), "hunter2") {
		t.Errorf("%s %v", text, err)
	}
	want := document.Texts{
		"LEVEL": {Value: "debug"}, "DB_PASSWORD": {Value: "******"}, "MARKED": {Value: "******", Secret: true}, "DB_URL": {Value: "mysql://me:******@h/x"},
		"JAVA_OPTS":       {Value: "-Xmx1g -Ddb.password=******"},
		"FROM_FILE_TOKEN": {FromFile: "/etc/elasticjob/secrets/token"}, "FROM_ENV": {FromEnv: "TOKEN"}, "EMPTY_TOKEN": {}, "EMPTY": {Secret: true},
	}
	if diff := cmp.Diff(want, shown.Env); diff != "" {
		t.Error(diff)
	}
	if shown.JobParameter != `from https://me:******@h/x {"db":{"password":"******"}}` ||
		shown.ShardingItemParameters != "0=ftp://me:******@h --token ******" ||
		shown.Prop(jobs.PropScript) != `sh -c 'curl -u me:****** -H "Authorization: Bearer ******" h && PGPASSWORD=****** psql --db-password ******'` ||
		shown.Prop("source") != "https://h/?access_token=******&a=b" || shown.Prop("a") != "b" {
		t.Errorf("%+v", shown)
	}
	if diff := cmp.Diff(withSecrets(), c); diff != "" {
		t.Errorf("the document itself was changed: %s", diff)
	}
	if got := c.Redact("hunter2 failed"); strings.Contains(got, "hunter2") {
		t.Error(got)
	}
	if bad, _ := c.Check(options()); len(bad) > 0 {
		t.Error(bad)
	}
}

// TestSecretHeaders checks which headers are secret because of their names, and that headers may refer to files.
func TestSecretHeaders(t *testing.T) {
	t.Parallel()
	c := stored()
	c.Props = document.Texts{jobs.PropHTTPURL: {Value: "http://h/"}, jobs.PropHTTPMethod: {Value: "GET"}}
	secret := []string{"Authorization", "Proxy-Authorization", "cookie", "X-API-Key", "X-Auth-Token",
		"X-Amz-Signature", "Private-Token", "X-Key"}
	public := []string{"Accept", "X-Tenant", "X-Monkey", "Author", "Host", "X-Keyboard"}
	for _, name := range append(slices.Clone(secret), public...) {
		c.Props[jobs.PropHTTPHeader+name] = document.Text{Value: "Bearer hunter2"}
	}
	c.Props["http.header.X-File"] = document.Text{FromFile: "/etc/elasticjob/secrets/x"}
	c.Props["http.header.X-Env"] = document.Text{FromEnv: "X"}
	c.Props["http.header.X-Marked"] = document.Text{Value: "Bearer hunter2", Secret: true}
	if bad, _ := c.Check(options()); len(bad) > 0 {
		t.Error(bad)
	}
	shown := c.WithoutSecrets()
	request, _ := c.HTTP()
	for _, name := range append(slices.Clone(secret), "X-Marked") {
		if shown.Prop(jobs.PropHTTPHeader+name) != "******" || !request.Headers[name].Secret ||
			request.Headers[name].Value != "Bearer hunter2" {
			t.Errorf("%s: %q, %+v", name, shown.Prop(jobs.PropHTTPHeader+name), request.Headers[name])
		}
	}
	for _, name := range public {
		if shown.Prop(jobs.PropHTTPHeader+name) != "Bearer hunter2" || request.Headers[name].Secret {
			t.Errorf("%s: %q, %+v", name, shown.Prop(jobs.PropHTTPHeader+name), request.Headers[name])
		}
	}
	if got := request.Headers["X-File"]; got.FromFile == "" || !got.Secret {
		t.Errorf("%+v", got)
	}
	if own := c.OwnProps(); len(own) > 0 {
		t.Errorf("headers are properties of the program: %v", own)
	}
	if got := c.Redact("refused hunter2"); strings.Contains(got, "hunter2") {
		t.Error(got)
	}
	kept, bad := shown.KeepSecrets(c)
	if diff := cmp.Diff(c, kept); diff != "" || len(bad) > 0 {
		t.Errorf("%v %s", bad, diff)
	}
	for _, name := range []string{jobs.PropHTTPURL, jobs.PropHTTPProxy} {
		other := shown
		other.Props = maps.Clone(shown.Props)
		other.Props[name] = document.Text{Value: "http://evil/"}
		if _, bad := other.KeepSecrets(c); len(bad) == 0 {
			t.Errorf("another %s gets the secrets", name)
		}
	}
	c.Props["http.header.X-File"] = document.Text{FromFile: "../x"}
	c.Props["http.header.X-Env"] = document.Text{FromEnv: "MESOS_X"}
	if bad, _ := c.Check(options()); len(bad) != 2 {
		t.Error(bad)
	}
}

// TestSecretsAreKept checks that secrets are kept if a client sends back an answer that hides them, and that a client
// cannot reveal them by removing a mark or by changing an address in a text.
func TestSecretsAreKept(t *testing.T) {
	t.Parallel()
	c := withSecrets()
	text, err := json.Marshal(c.WithoutSecrets())
	if err != nil {
		t.Fatal(err)
	}
	decode := func(body string) jobs.Config {
		t.Helper()
		got, _, err := jobs.Schema.Decode([]byte(body), c)
		if err != nil {
			t.Fatal(err)
		}
		kept, bad := got.KeepSecrets(c)
		if len(bad) > 0 {
			t.Errorf("%s: %v", body, bad)
		}
		return kept
	}
	if diff := cmp.Diff(c, decode(string(text))); diff != "" {
		t.Errorf("the document that was sent back: %s", diff)
	}
	for env, want := range map[string]string{ // want is the stored env, or the field of a violation
		`{"MARKED":"******"}`:                              `{"MARKED":{"value":"hunter2","secret":true}}`,
		`{"MARKED":{"value":"******","secret":false}}`:     `{"MARKED":{"value":"hunter2","secret":true}}`,
		`{"DB_PASSWORD":"******"}`:                         `{"DB_PASSWORD":"hunter2"}`,
		`{"DB_PASSWORD":{"value":"******","secret":true}}`: `{"DB_PASSWORD":{"value":"hunter2","secret":true}}`,
		`{"MARKED":"new"}`:                                 `{"MARKED":"new"}`,
		`{"LEVEL":"******"}`:                               `{"LEVEL":"******"}`, // not a secret
		`{"DB_URL":"mysql://me:******@h/x"}`:               `{"DB_URL":"mysql://me:hunter2@h/x"}`,
		`{"DB_URL":"mysql://me:******@elsewhere/x"}`:       "env.DB_URL",
		`{"JAVA_OPTS":"-Xmx1g -Ddb.password=******"}`:      `{"JAVA_OPTS":"-Xmx1g -Ddb.password=hunter2"}`,
		`{"JAVA_OPTS":"-Xmx2g -Ddb.password=******"}`:      "env.JAVA_OPTS",
		`{"NEW":"-u me --password ******"}`:                "env.NEW",
		`{"NEW_PASSWORD":"******"}`:                        "env.NEW_PASSWORD",
		`{"NEW":{"value":"******","secret":true}}`:         "env.NEW",
		`{"DB_PASSWORD":"x******"}`:                        "env.DB_PASSWORD",
		`{"EMPTY_TOKEN":"******"}`:                         "env.EMPTY_TOKEN",
		`{"FROM_FILE_TOKEN":"******"}`:                     "env.FROM_FILE_TOKEN",
	} {
		got := decode(`{"env":` + env + `}`)
		bad, _ := got.Check(options())
		if strings.HasPrefix(want, "env.") {
			if len(bad) != 1 || bad[0].Field != want || !strings.Contains(bad[0].Message, "give the secret itself") {
				t.Errorf("%s: %v", env, bad)
			}
			continue
		}
		stored, err := json.Marshal(got.Env)
		if err != nil || len(bad) > 0 || string(stored) != want {
			t.Errorf("%s is stored as %s, %v, %v", env, stored, bad, err)
		}
	}
	registered, _, err := jobs.Schema.Decode(text, jobs.Default())
	registered, _ = registered.KeepSecrets(jobs.Default())
	bad, _ := registered.Check(options())
	var fields []string
	for _, v := range bad {
		fields = append(fields, v.Field)
	}
	want := []string{"description", "env.DB_PASSWORD", "env.DB_URL", "env.JAVA_OPTS", "env.MARKED", "jobParameter",
		"props.apiKey", "props.marked", "props.script.command.line", "props.source", "shardingItemParameters"}
	if diff := cmp.Diff(want, fields); err != nil || diff != "" {
		t.Errorf("registered as a new job: %v %s", err, diff)
	}
}

// TestSecretsStayWhereTheyAreSent checks that a hidden secret is kept only while the settings that decide where it is
// sent are unchanged.
func TestSecretsStayWhereTheyAreSent(t *testing.T) {
	t.Parallel()
	c := withSecrets()
	c.AppName = "mine"
	for name, value := range map[string]string{
		"email.host": "mail.example.com", "email.port": "465", "email.useSsl": "true", "email.username": "me",
		"email.password": "hunter2",
		"email.from":     "a@example.com", "email.to": "b@example.com",
		"dingtalk.webhook": "https://ding/robot?access_token=hunter2", "dingtalk.secret": "hunter2",
		"webhook.url": "https://h/hook?key=hunter2", "webhook.secret": "hunter2",
		"wechat.webhook": "https://wechat/send?key=hunter2",
	} {
		c.Props[name] = document.Text{Value: value}
	}
	delete(c.Props, jobs.PropScript)
	c.Props["http.url"], c.Props["http.method"] = document.Text{Value: "https://api/x?token=hunter2"},
		document.Text{Value: "POST"}
	c.Props["http.data"] = document.Text{Value: "hunter2", Secret: true}
	without := func(name string) func(*jobs.Config) { return func(c *jobs.Config) { delete(c.Props, name) } }
	prop := func(name, value string) func(*jobs.Config) {
		return func(c *jobs.Config) { c.Props[name] = document.Text{Value: value} }
	}
	parameters := []string{"jobParameter", "shardingItemParameters"}
	ofExecutors := append([]string{"env.DB_PASSWORD", "env.DB_URL", "env.JAVA_OPTS", "env.MARKED", "props.apiKey",
		"props.http.data", "props.http.url", "props.marked", "props.source"}, parameters...)
	for name, test := range map[string]struct {
		change       func(*jobs.Config)
		notKept      []string // the fields whose secrets are not kept
		changedField string   // the field that the violations name
	}{
		"nothing":                    {func(*jobs.Config) {}, nil, ""},
		"settings without secrets":   {func(c *jobs.Config) { c.Cron, c.Env["LEVEL"] = "0 0 3 * * ?", document.Text{Value: "info"} }, nil, ""},
		"the recipients":             {prop("email.to", "c@example.com"), nil, ""},
		"the handler":                {func(c *jobs.Config) { c.JobErrorHandlerType = jobs.HandlerWebhook }, nil, ""},
		"the mail server":            {prop("email.host", "mail.evil.example"), []string{"props.email.password"}, "props.email.host"},
		"the mail server's port":     {prop("email.port", "25"), []string{"props.email.password"}, "props.email.port"},
		"mail without TLS":           {prop("email.useSsl", "false"), []string{"props.email.password"}, "props.email.useSsl"},
		"mail without the TLS field": {without("email.useSsl"), []string{"props.email.password"}, "props.email.useSsl"},
		"trusted certificates":       {prop("email.ssl.trust", "*"), []string{"props.email.password"}, "props.email.ssl.trust"},
		"plaintext login":            {prop("email.allowPlaintextLogin", "true"), []string{"props.email.password"}, "props.email.allowPlaintextLogin"},
		"the webhook":                {prop("webhook.url", "https://h/other"), []string{"props.webhook.secret"}, "props.webhook.url"},
		"the robot":                  {prop("dingtalk.webhook", "https://evil/robot"), []string{"props.dingtalk.secret"}, "props.dingtalk.webhook"},
		"the request's address":      {prop("http.url", "http://evil/"), append([]string{"props.http.data"}, parameters...), "props.http.url"},
		"the request as http.uri":    {prop("http.uri", "http://evil/"), append([]string{"props.http.data", "props.http.url"}, parameters...), "props.http.uri"},
		"the app":                    {func(c *jobs.Config) { c.AppName = "theirs" }, ofExecutors, "appName"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := c.WithoutSecrets()
			given.Env, given.Props = maps.Clone(given.Env), maps.Clone(given.Props)
			test.change(&given)
			kept, bad := given.KeepSecrets(c)
			var fields []string
			for _, v := range bad {
				fields = append(fields, v.Field)
				if !strings.Contains(v.Message, test.changedField+" has changed: give the secret itself") ||
					strings.Contains(v.Value+v.Message, "hunter2") {
					t.Errorf("%+v", v)
				}
			}
			slices.Sort(test.notKept)
			if !slices.Equal(fields, test.notKept) {
				t.Errorf("%q are refused, want %q", fields, test.notKept)
			}
			for _, field := range test.notKept {
				if text, _ := json.Marshal(kept.Props); field == "props.email.password" &&
					strings.Contains(string(text), `"email.password":"hunter2"`) {
					t.Errorf("kept: %s", text)
				}
			}
		})
	}
	changed := c.WithoutSecrets()
	changed.Props = maps.Clone(changed.Props)
	prop("email.host", "mail.evil.example")(&changed)
	prop("email.password", "new")(&changed)
	if _, bad := changed.KeepSecrets(c); len(bad) > 0 {
		t.Errorf("with a new secret: %v", bad)
	}
}

func TestReferencesAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text         document.Text
		field, value string
	}{
		{document.Text{FromFile: "/etc/elasticjob/secrets/db"}, "", ""},
		{document.Text{FromFile: "secrets/db"}, "env.DB_PASSWORD.fromFile", "secrets/db"},
		{document.Text{FromFile: "/etc/../x"}, "env.DB_PASSWORD.fromFile", "/etc/../x"},
		{document.Text{FromFile: "/etc//x"}, "env.DB_PASSWORD.fromFile", "/etc//x"},
		{document.Text{FromFile: "/etc/x/"}, "env.DB_PASSWORD.fromFile", "/etc/x/"},
		{document.Text{FromFile: "/" + strings.Repeat("x", 4095)}, "env.DB_PASSWORD.fromFile", "/" + strings.Repeat("x", 79) + "…"},
		{document.Text{FromFile: "/a\x00b"}, "env.DB_PASSWORD", ""},
		{document.Text{FromEnv: "DB_PASSWORD"}, "", ""},
		{document.Text{FromEnv: "A-B"}, "env.DB_PASSWORD.fromEnv", "A-B"},
		{document.Text{FromEnv: "MESOS_EXECUTOR_AUTHENTICATION_TOKEN"}, "env.DB_PASSWORD.fromEnv", "MESOS_EXECUTOR_AUTHENTICATION_TOKEN"},
		{document.Text{FromEnv: "LIBPROCESS_SSL_KEY_FILE"}, "env.DB_PASSWORD.fromEnv", "LIBPROCESS_SSL_KEY_FILE"},
		{document.Text{FromEnv: "ELASTICJOB_MESOS_CA"}, "env.DB_PASSWORD.fromEnv", "ELASTICJOB_MESOS_CA"},
	} {
		job := stored()
		job.Env = document.Texts{"DB_PASSWORD": c.text}
		bad, _ := job.Check(options())
		if c.field == "" && len(bad) == 0 {
			continue
		}
		if len(bad) != 1 || bad[0].Field != c.field || bad[0].Value != c.value {
			t.Errorf("%+v: %+v", c.text, bad)
		}
		if ofTrigger := (jobs.Overrides{Env: job.Env}).Check(stored()); fmt.Sprint(ofTrigger) != fmt.Sprint(bad) {
			t.Errorf("of a trigger: %v", ofTrigger)
		}
	}
	job := stored()
	job.Props = document.Texts{"a": {FromFile: "/x"}, jobs.PropScript: {FromEnv: "X"}}
	if bad, _ := job.Check(options()); len(bad) != 2 ||
		!strings.Contains(bad[0].Message, "only env and http.header. can name one") {
		t.Errorf("%v", bad)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	got := withSecrets().Environment()
	want := jobs.Environment{
		Texts: map[string]string{"LEVEL": "debug", "DB_PASSWORD": "hunter2", "MARKED": "hunter2",
			"DB_URL": "mysql://me:hunter2@h/x", "JAVA_OPTS": "-Xmx1g -Ddb.password=hunter2", "EMPTY_TOKEN": "", "EMPTY": ""},
		Files:     map[string]string{"FROM_FILE_TOKEN": "/etc/elasticjob/secrets/token"},
		Variables: map[string]string{"FROM_ENV": "TOKEN"},
		Secrets:   []string{"EMPTY", "MARKED", "marked"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOverridesKeepSecrets(t *testing.T) {
	t.Parallel()
	job := withSecrets()
	o := jobs.Overrides{
		JobParameter: text(`from https://me:******@h/x {"db":{"password":"******"}}`),
		Env: document.Texts{"DB_PASSWORD": {Value: "******"}, "MARKED": {Value: "other"},
			"FROM_ENV": {Value: "x"}, "NEW": {Value: "y"}},
	}
	before := maps.Clone(o.Env)
	kept := o.KeepSecrets(job)
	want := jobs.Overrides{
		JobParameter: text(`from https://me:hunter2@h/x {"db":{"password":"hunter2"}}`),
		Env: document.Texts{"DB_PASSWORD": {Value: "hunter2"}, "MARKED": {Value: "other", Secret: true},
			"FROM_ENV": {Value: "x"}, "NEW": {Value: "y"}},
	}
	if diff := cmp.Diff(want, kept); diff != "" || len(kept.Check(job)) > 0 {
		t.Error(diff, kept.Check(job))
	}
	if diff := cmp.Diff(before, o.Env); diff != "" {
		t.Errorf("the request itself was changed: %s", diff)
	}
	o.Env = document.Texts{"NEW_TOKEN": {Value: "******"}}
	if bad := o.KeepSecrets(job).Check(job); len(bad) != 1 || bad[0].Field != "env.NEW_TOKEN" {
		t.Error(bad)
	}
	if !(jobs.Overrides{}).KeepSecrets(job).IsZero() {
		t.Error("KeepSecrets adds overrides")
	}
}
