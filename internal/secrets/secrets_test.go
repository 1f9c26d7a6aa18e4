package secrets_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/internal/secrets"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"password", "PASSWORD", "DB_PASSWORD", "dbPassword", "db-password", "db.password", "DBPassword", "PGPASSWORD",
		"password2", "PASSWORD_FILE", "db.password.main",
		"passwd", "MYSQL_PWD", "pwd", "passphrase", "sshPassphrase", "secret", "CLIENT_SECRET", "clientSecretValue",
		"webhook.secret", "secrets",
		"token", "ACCESS_TOKEN", "accessToken", "authtoken", "oauth2Token", "X-Auth-Token", "GITHUB_TOKEN", "apikey",
		"api_key", "api-key", "apiKey", "APIKey", "API_KEY_2", "x-api-key", "apikeys",
		"accesskey", "access_key", "AWS_ACCESS_KEY_ID", "private_key", "privatekey", "privateKeyPEM", "credential",
		"GOOGLE_CREDENTIALS", "dbCredential", "DB_PASS", "smtpPass",
	} {
		if !secrets.IsName(name) {
			t.Errorf("%s is not taken for a secret's name", name)
		}
	}
	for _, name := range []string{
		"", "tokenizer", "max_tokens", "maxTokens", "tokens", "tokenize", "key", "monkey", "KEY_ID", "public_key",
		"primaryKey", "keyboard", "access", "api", "apiVersion", "private",
		"passenger", "pass_rate", "compass", "bypass", "secretary", "passwordless", "author", "http.url", "jobName",
		"LEVEL", "private_network_key", "密码",
	} {
		if secrets.IsName(name) {
			t.Errorf("%s is taken for a secret's name", name)
		}
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                       "",
		"plain":                                  "plain",
		"me:hunter2@h":                           "me:hunter2@h", // no URL
		"http://h/x?a=b#c":                       "http://h/x?a=b#c",
		"http://h:8080/@me":                      "http://h:8080/@me",
		"http://[::1]:80/a@b":                    "http://[::1]:80/a@b",
		"docker://h:5000/image@sha256:ab":        "docker://h:5000/image@sha256:ab",
		"ssh://git@h/x":                          "ssh://git@h/x",
		"mysql://a:3306,b:3306/db":               "mysql://a:3306,b:3306/db",
		"https://me:hunter2@h/x":                 "https://me:******@h/x",
		"https://hunter2@h/x":                    "https://******@h/x",
		"redis://:hunter2@h:6379/0":              "redis://:******@h:6379/0",
		"https://me:hun@ter2@h/x":                "https://me:******@h/x",
		"postgres://me:hun/ter2@h/x":             "postgres://me:******@h/x",
		"postgres://me:hun#ter2@h/x":             "postgres://me:******@h/x",
		"https://me:@h/x":                        "https://me:@h/x",
		"jdbc:mysql://h/x?user=a&password=p&b=c": "jdbc:mysql://h/x?user=a&password=******&b=c",
		"jdbc:sqlserver://h:1;user=a;password=p": "jdbc:sqlserver://h:1;user=a;password=******",
		"https://h/x?access_token=t#id_token=t":  "https://h/x?access_token=******#id_token=******",
		"https://h/x?max_tokens=3&token=":        "https://h/x?max_tokens=3&token=",
		"a --url 'https://me:p@h/x' b":           "a --url 'https://me:******@h/x' b",
		"https://a:p@h1,https://a:q@h2":          "https://a:******@h1,https://a:******@h2",
		"https://h/x?next=https://a:p@h/y":       "https://h/x?next=https://a:******@h/y",
		"a://b://c:d@e":                          "a://b://c:******@e",
		"://":                                    "://",
	} {
		got := secrets.HideURLs(text)
		if got != want {
			t.Errorf("%s is shown as %s", text, got)
		}
		if again := secrets.HideURLs(got); again != got {
			t.Errorf("%s is shown as %s the second time", got, again)
		}
		for _, s := range secrets.In(text) {
			if s == "" || got == text {
				t.Errorf("%s has the secret %q, and is shown as %s", text, s, got)
			}
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	known := []string{"hunter2", "hunter2-longer", "a b&c=/d", "abc",
		"-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQ==\n-----END KEY-----"}
	for text, want := range map[string]string{
		"it was hunter2.":              "it was ******.",
		"hunter2-longer":               "******",
		"?q=a+b%26c%3D%2Fd":            "?q=******",
		"/a%20b&c=%2Fd/":               "/******/",
		"abc is in words":              "abc is in words",
		"line MIIEvQIBADANBg is a key": "line ****** is a key",
	} {
		if got := secrets.Redact(text, known); got != want {
			t.Errorf("%s becomes %s", text, got)
		}
	}
}

// FuzzTexts checks that exactly the found secrets are hidden.
func FuzzTexts(f *testing.F) {
	for _, text := range slices.Concat(secretTexts, plainTexts, []string{"a://b:c/d@e", "x://[::]:@", "://:@"}) {
		f.Add(strings.NewReplacer("«", "", "»", "").Replace(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		shown, at := "", 0
		for _, s := range secrets.Find(text) {
			if s.From < at || s.From >= s.To || s.To > len(text) {
				t.Fatalf("a secret from %d to %d in %q, after one to %d", s.From, s.To, text, at)
			}
			shown += text[at:s.From] + secrets.Hidden
			at = s.To
		}
		if shown += text[at:]; secrets.Hide(text) != shown {
			t.Errorf("%q is shown as %q, want %q", text, secrets.Hide(text), shown)
		}
	})
}
