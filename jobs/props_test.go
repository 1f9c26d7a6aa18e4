package jobs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
)

type props = map[string]string

// with returns a copy of base to which more, pairs of a name and a value, is added.
func with(base props, more ...string) props {
	all := maps.Clone(base)
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

// texts returns properties in the form of a document.
func texts(all props) document.Texts {
	props := document.Texts{}
	for name, value := range all {
		props[name] = document.Text{Value: value}
	}
	return props
}

func without(base props, name string) props {
	all := maps.Clone(base)
	delete(all, name)
	return all
}

const token = "hunter2-token"

var (
	// The smallest sets of properties that Check accepts, for some families.
	web   = props{"http.url": "https://h/x", "http.method": "GET"}
	email = props{"email.host": "mail.example.com", "email.port": "465", "email.username": "me",
		"email.password": token,
		"email.from":     "me@example.com", "email.to": "you@example.com"}
	wechat   = props{"wechat.webhook": "https://qyapi.example.com/cgi-bin/webhook/send?key=" + token}
	dingtalk = props{"dingtalk.webhook": "https://oapi.example.com/robot/send?access_token=" + token,
		"dingtalk.secret": token}
	webhook = props{"webhook.url": "https://h/x?token=" + token, "webhook.secret": token}
)

func TestProps(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		handler string
		props   props
		want    []string // "field: part of the message", in the order of the violations, or "note: part"
	}{
		{"properties of the job's program", "", props{"a": "b\n", "https.url": "x", "emails": "y"}, nil},
		{"unknown, similar to a known one", "", props{"script.comand.line": "x", "script.command.line": "y"}, []string{"script.comand.line: did you mean script.command.line?"}},
		{"unknown, similar to none", "", props{"streaming.zzzzz": "x"}, []string{"streaming.zzzzz: unknown property; known are streaming.process"}},
		{"a prefix without a name", "", props{"webhook.": token}, []string{"webhook.: unknown property", "note: webhook.* have no effect without jobErrorHandlerType WEBHOOK"}},
		{"script and HTTP", "", with(web, "script.command.line", "x"), []string{"script.command.line: a job is one of them"}},
		{"HTTP", "", web, nil},
		{"HTTP by the original's key", "", props{"http.uri": "http://h:80", "http.method": "post", "http.data": "a\nb"}, nil},
		{"HTTP with everything", "", with(web, "http.method", "PATCH", "http.data", "x", "http.content.type",
			"text/plain; charset=UTF-8",
			"http.connect.timeout.milliseconds", "1", "http.read.timeout.milliseconds", "86400000"), nil},
		{"HTTP without a URL", "", props{"http.method": "GET"}, []string{"http.url: The property `http.url` is required."}},
		{"HTTP without a method", "", props{"http.url": "http://h"}, []string{"http.method: The property `http.method` is required."}},
		{"HTTP, both the same", "", with(web, "http.uri", "https://h/x"), nil},
		{"HTTP, both different", "", with(web, "http.uri", "https://h/y"), []string{"http.uri: differs from http.url"}},
		{"HTTP, bad method", "", with(web, "http.method", "TRACE"), []string{"http.method: must be one of GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE"}},
		{"HTTP, data of GET", "", with(web, "http.data", "x"), []string{"http.data: has no effect with the method GET"}},
		{"HTTP, relative", "", with(web, "http.url", "/x"), []string{"http.url: must be a whole http or https URL"}},
		{"HTTP, other scheme", "", with(web, "http.url", "ftp://h/x"), []string{"http.url: must be a whole http or https URL"}},
		{"HTTP, a user", "", with(web, "http.url", "http://me:"+token+"@h/x"), []string{"http.url: must not hold a user"}},
		{"HTTP, a port", "", with(web, "http.url", "http://h:70000/x"), []string{"http.url: its port, 70000, should be integer, from 1 to 65535"}},
		{"HTTP, line breaks", "", with(web, "http.content.type", "a\r\nX: y", "http.url", "http://h/\n"), []string{"http.content.type: must not hold line breaks", "http.url: must not hold line breaks"}},
		{"HTTP, bad timeouts", "", with(web, "http.connect.timeout.milliseconds", "0",
			"http.read.timeout.milliseconds", "1.5"),
			[]string{"http.connect.timeout.milliseconds: should be integer",
				"http.read.timeout.milliseconds: should be integer"}},
		{"HTTP, headers and a proxy", "", with(web, "http.header.Authorization", "Bearer "+token, "http.header.x-api-version", "2",
			"http.header.Host", "inside.example.com", "http.proxy", "http://proxy:3128"), nil},
		{"HTTP, the environment's proxy", "", with(web, "http.proxy", "environment"), nil},
		{"HTTP, bad headers", "", with(web, "http.header.", "x", "http.header.A B", token, "http.header.Content-Length", "1",
			"http.header.content-type", "text/plain", "http.header.Cookie", token+"\r\nX: y", "http.header.X-A", "1",
			"http.header.x-a", "2"), []string{"http.header.Cookie: must not hold line breaks", "http.header.: must be letters",
			"http.header.A B: must be letters", "http.header.Content-Length: every request has", "http.header.content-type: http.content.type sets",
			"http.header.x-a: is the same header as http.header.X-A"}},
		{"HTTP, bad proxies", "", with(web, "http.proxy", "http://me:"+token+"@proxy:3128"), []string{"http.proxy: must be the URL of a proxy"}},
		{"HTTP, a hidden header", "", with(web, "http.header.Authorization", "******"), []string{"http.header.Authorization: give the secret itself"}},
		{"headers without a request", "", props{"http.header.A": "x"}, []string{"http.method: required", "http.url: required"}},
		{"streaming", "", props{"streaming.process": "TRUE"}, nil},
		{"streaming, bad", "", props{"streaming.process": "yes"}, []string{"streaming.process: must be true or false"}},
		{"mail", "EMAIL", email, nil},
		{"mail, several people", "EMAIL",
			with(email, "email.to", "a@b.c, D <d@e.f>", "email.cc", "a@b.c,d@e.f", "email.bcc", "a@b.c",
				"email.useSsl", "false",
				"email.ssl.trust", "*", "email.debug", "true", "email.subject", "作业失败"), nil},
		{"mail without properties", "EMAIL", nil, []string{"email.host: required", "email.port: required", "email.username: required", "email.password: required", "email.from: required", "email.to: required"}},
		{"mail without a login", "EMAIL", with(email, "email.username", "", "email.password", ""), nil},
		{"mail, all wrong", "EMAIL", with(email, "email.cc", "x", "email.from", "a@b.c, d@e.f", "email.host",
			"smtp://x", "email.port", "-1", "email.subject", "a\nb", "email.to", "", "email.useSsl", "1"),
			[]string{"email.cc: must be mail addresses", "email.from: must be a mail address",
				"email.host: without a port or a scheme", "email.port: should be integer, from 1 to 65535",
				"email.subject: line breaks", "email.to: is empty", "email.useSsl: true or false"}},
		{"mail, password with a break", "EMAIL", with(email, "email.password", token+"\n"), []string{"email.password: must not hold line breaks"}},
		{"mail properties with another handler", "LOG", email, []string{"note: the properties email.* have no effect without jobErrorHandlerType EMAIL"}},
		{"a mail property without a handler", "", props{"email.host": "h"}, []string{"note: the properties email.* have no effect"}},
		{"WeChat", "WECHAT", wechat, nil},
		{"WeChat without a webhook", "WECHAT", props{"wechat.readTimeoutMilliseconds": "30000"}, []string{"wechat.webhook: required"}},
		{"WeChat, too slow", "WECHAT", with(wechat, "wechat.readTimeoutMilliseconds", "30001"), []string{"wechat.readTimeoutMilliseconds: should be integer, from 1 to 30000"}},
		{"DingTalk", "DINGTALK", with(dingtalk, "dingtalk.keyword", "Alarm "), nil},
		{"DingTalk, bad", "DINGTALK", with(dingtalk, "dingtalk.webhook", "oapi?access_token="+token, "dingtalk.secret",
			" "),
			[]string{"dingtalk.secret: is empty", "dingtalk.webhook: must be a whole http or https URL"}},
		{"webhook", "WEBHOOK", webhook, nil},
		{"webhook without a secret", "WEBHOOK", without(webhook, "webhook.secret"), nil},
		{"webhook with a template", "WEBHOOK", with(webhook, "webhook.authorization", token, "webhook.template",
			"{\n\"text\":{{json .text}}}"), nil},
		{"webhook, template without JSON", "WEBHOOK", with(webhook, "webhook.template", `{"text":"{{.text}}"}`),
			[]string{"webhook.template: must be a template that gives JSON: it gives no JSON"}},
		{"webhook, template with an unknown field", "WEBHOOK", with(webhook, "webhook.template", `{{json .jobname}}`),
			[]string{"webhook.template: there is no field jobname"}},
		{"webhook without a URL", "WEBHOOK", without(webhook, "webhook.url"), []string{"webhook.url: required"}},
		{"webhook, secret misspelled", "WEBHOOK", with(webhook, "webhook.secrets", token), []string{"webhook.secrets: did you mean webhook.secret?"}},
		{"webhook, hidden", "WEBHOOK", with(webhook, "webhook.secret", "******"), []string{"webhook.secret: give the secret itself"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := stored()
			c.Cron = "0/5 * * * * ?"
			c.Props, c.JobErrorHandlerType = texts(test.props), test.handler
			bad, notes := c.Check(options())
			var got []string
			for _, v := range bad {
				got = append(got, fmt.Sprintf("%s: %s", strings.TrimPrefix(v.Field, "props."), v.Message))
			}
			for _, note := range notes {
				got = append(got, "note: "+note)
			}
			ok := len(got) == len(test.want)
			for i := 0; ok && i < len(got); i++ {
				field, part, _ := strings.Cut(test.want[i], ": ")
				ok = strings.HasPrefix(got[i], field+": ") && strings.Contains(got[i], part)
			}
			if !ok {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
			if shown := fmt.Sprintf("%+v %q", bad, notes); strings.Contains(shown, token) {
				t.Errorf("a secret is shown: %s", shown)
			}
		})
	}
}

// TestContextArgument checks that true and false have their meaning in upper and lower case, because Check accepts
// both.
func TestContextArgument(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		props props
		want  bool
	}{
		{props{}, false},
		{props{"script.command.line": "x"}, true},
		{props{"script.command.line": "x", "script.context.argument": "True"}, true},
		{props{"script.command.line": "x", "script.context.argument": "false"}, false},
		{props{"script.command.line": "x", "script.context.argument": "False"}, false},
	} {
		c := stored()
		c.Props = texts(test.props)
		if bad, _ := c.Check(jobs.CheckOptions{}); len(bad) > 0 || c.ContextArgument() != test.want {
			t.Errorf("%v: %v, want %v (%v)", test.props, c.ContextArgument(), test.want, bad)
		}
	}
}

// TestSecretsAreHiddenAndKept checks that answers hide the secrets of properties, that they are kept if a client sends
// such an answer back, and that new secrets replace them.
func TestSecretsAreHiddenAndKept(t *testing.T) {
	t.Parallel()
	all := props{"own": token, "http.url": "https://h/x?a=b"}
	for _, family := range []props{email, wechat, dingtalk, webhook} {
		maps.Copy(all, family)
	}
	c := jobs.Config{JobName: "j", Props: texts(all)}
	hidden := c.WithoutSecrets()
	shown := props{
		"own": token, "http.url": "https://h/x?a=b", "email.host": "mail.example.com", "email.password": "******",
		"dingtalk.secret": "******", "webhook.secret": "******",
		"wechat.webhook": "https://qyapi.example.com/******", "dingtalk.webhook": "https://oapi.example.com/******",
		"webhook.url": "https://h/******",
	}
	for name, want := range shown {
		if hidden.Prop(name) != want {
			t.Errorf("%s is shown as %s", name, hidden.Prop(name))
		}
	}
	if diff := cmp.Diff(c, kept(hidden, c)); diff != "" {
		t.Errorf("the document that was sent back: %s", diff)
	}
	changed := hidden
	changed.Props = maps.Clone(hidden.Props)
	maps.Copy(changed.Props, texts(props{"webhook.secret": "new", "wechat.webhook": "https://other/******",
		"email.to": "x@example.com"}))
	changed = kept(changed, c)
	if changed.Prop("webhook.secret") != "new" || changed.Prop("wechat.webhook") != "https://other/******" ||
		changed.Prop("email.password") != token {
		t.Errorf("after a change: %v", changed.Props)
	}
	if diff := cmp.Diff(texts(all), c.Props); diff != "" {
		t.Errorf("the document itself was changed: %s", diff)
	}
	if got := c.OwnProps(); len(got) != 1 || got["own"] != token {
		t.Errorf("a job's program would get %v", got)
	}
	if got := c.WithoutNotifications().Props; len(got) != 2 || got["http.url"].Value == "" {
		t.Errorf("a run would keep %v", got)
	}
	if got := c.Redact("dial https://h/x?token=" + token + ": refused " + token); strings.Contains(got, token) {
		t.Errorf("redacted: %s", got)
	}
}

// kept returns the result of KeepSecrets without the violations.
func kept(given, stored jobs.Config) jobs.Config {
	c, _ := given.KeepSecrets(stored)
	return c
}

// FuzzProps checks that Check never panics and never reveals a secret.
func FuzzProps(f *testing.F) {
	for _, seed := range append([]props{{"http.urI": "::", "email.to": "<"}}, email, wechat, dingtalk, webhook, web) {
		for _, handler := range []string{"EMAIL", "WECHAT", "DINGTALK", "WEBHOOK", ""} {
			text, err := json.Marshal(seed)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(handler, string(text))
		}
	}
	f.Fuzz(func(t *testing.T, handler, text string) {
		c := stored()
		if strings.Contains(text, "hunter2") || json.Unmarshal([]byte(text), &c.Props) != nil {
			return
		}
		c.JobErrorHandlerType = handler
		for _, name := range []string{"email.password", "dingtalk.secret", "webhook.secret", "webhook.authorization"} {
			if text, given := c.Props[name]; given {
				text.Value += token
				c.Props[name] = text
			}
		}
		for _, name := range []string{"wechat.webhook", "dingtalk.webhook", "webhook.url"} {
			if text, given := c.Props[name]; given {
				text.Value += "?k=" + token
				c.Props[name] = text
			}
		}
		bad, notes := c.Check(options())
		hidden := c.WithoutSecrets()
		shown := fmt.Sprintf("%+v %q", bad, notes)
		if len(bad) == 0 { // otherwise no answer contains the document
			shown += fmt.Sprint(hidden.Props)
		}
		if strings.Contains(shown, token) {
			t.Errorf("a secret is shown: %s", shown)
		}
		if len(bad) == 0 {
			if diff := cmp.Diff(c, kept(hidden, c)); diff != "" {
				t.Errorf("the document that was sent back: %s", diff)
			}
		}
		_ = c.Redact(shown)
	})
}
