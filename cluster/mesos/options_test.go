package mesos_test

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster/mesos"
)

func TestNewChecksItsOptions(t *testing.T) {
	t.Parallel()
	for name, masters := range map[string][]string{
		"none":                nil,
		"empty":               {""},
		"no scheme":           {"127.0.0.1:5050"},
		"no host":             {"http://"},
		"a path":              {"http://h:5050/api"},
		"secret in http":      {"http://u:hunter2@h:5050"},
		"secret, no scheme":   {"u:hunter2@h:5050"},
		"secret with an @":    {"http://u:hunter2@x:hunter2@h:5050"},
		"secret in bad http":  {"http://u:hunter2@h:5050:x/%zz"},
		"zk without path":     {"zk://h:2181"},
		"zk at the root":      {"zk://h:2181/"},
		"zk without hosts":    {"zk:///mesos"},
		"zk with empty host":  {"zk://h1:2181,,h2:2181/mesos"},
		"zk without port":     {"zk://h1:/mesos"},
		"zk, path in path":    {"zk://h1/a//b"},
		"zk, hosts after":     {"zk://h1/mesos,h2/mesos"},
		"zk, no password":     {"zk://hunter2@h1/mesos"},
		"zk, empty password":  {"zk://hunter2:@h1/mesos"},
		"zk, secret in error": {"zk://u:hunter2@h1"},
		"zk and http":         {"zk://h1/mesos", "http://h:5050"},
		"http and zk":         {"http://h:5050", "zk://h1/mesos"},
	} {
		_, err := mesos.New(mesos.Options{Masters: masters})
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows a secret: %v", name, err)
		}
	}
	if _, err := mesos.New(mesos.Options{Masters: []string{"http://h:5050"}, TLS: &tls.Config{}}); err == nil {
		t.Error("http with a CA was accepted")
	}
	for _, masters := range [][]string{
		{"zk://h/mesos"}, {"zk://h1:2181,h2:2181/mesos"}, {"zk://h1:2181", "h2:2181/mesos"}, {"zk://[::1]:2181/a/mesos/"},
		{"zk://u:p@ss/w:rd@h1,h2/mesos"}, {"http://h:5050", "https://h:5050/"},
	} {
		d, err := mesos.New(mesos.Options{Masters: masters})
		if err != nil {
			t.Errorf("%q: %v", masters, err)
		} else if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCredentialsHideTheirSecret(t *testing.T) {
	t.Parallel()
	c := mesos.Credentials{User: "ejc", Secret: "hunter2"}
	for _, text := range []string{fmt.Sprint(c), fmt.Sprint(&c), fmt.Sprintf("%+v %#v", c, c), c.LogValue().String()} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("shown as %s", text)
		}
	}
}

func TestReadCredentials(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		user string // empty: rejected
	}{
		"a line":                {"ejc hunter2\n", "ejc"},
		"no newline, tab":       {"ejc\thunter2", "ejc"},
		"JSON":                  {`{"principal": "ejc", "secret": "hunter2"}`, "ejc"},
		"JSON with spaces":      {"\n {\"secret\":\"hunter2\",\"principal\":\"my ejc\"}\n", "my ejc"},
		"empty":                 {"", ""},
		"a word":                {"hunter2", ""},
		"three words":           {"ejc hunter2 hunter2", ""},
		"two lines":             {"ejc hunter2\nother hunter2\n", ""},
		"split over lines":      {"ejc\nhunter2\n", ""},
		"broken JSON":           {`{"principal": "ejc", "secret": "hunter2"`, ""},
		"JSON of another type":  {`{"principal": "ejc", "secret": ["hunter2"]}`, ""},
		"no secret":             {`{"principal": "ejc"}`, ""},
		"no principal":          {`{"secret": "hunter2"}`, ""},
		"the master's own list": {`{"credentials":[{"principal":"ejc","secret":"hunter2"}]}`, ""},
		"colon in principal":    {"e:jc hunter2", ""},
		"too large":             {strings.Repeat("hunter2 ", 10<<10), ""},
	} {
		file := filepath.Join(t.TempDir(), "credentials")
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := mesos.ReadCredentials(file)
		switch {
		case tt.user == "" && err == nil:
			t.Errorf("%s: accepted as %v", name, c)
		case tt.user == "" && (strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), file)):
			t.Errorf("%s: error %v", name, err)
		case tt.user != "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.user != "" && (c.User != tt.user || c.Secret != "hunter2" || c.Warning() != ""):
			t.Errorf("%s: read as %v, warning %q", name, c, c.Warning())
		}
	}
	if _, err := mesos.ReadCredentials(t.TempDir()); err == nil {
		t.Error("a folder was accepted")
	}
	if _, err := mesos.ReadCredentials("/nowhere/credentials"); err == nil {
		t.Error("no file was accepted")
	}
}

// Mesos itself only logs a warning about such a file.
func TestCredentialsThatOthersCanRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("ejc hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := mesos.ReadCredentials(file)
	if err != nil {
		t.Fatal(err)
	}
	if w := c.Warning(); !strings.Contains(w, file) || strings.Contains(w, "hunter2") {
		t.Errorf("warning %q", w)
	}
}

func TestLoadTLS(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, "/nowhere/ca.pem"} {
		if _, err := mesos.LoadTLS(mesos.TLSFiles{CA: path}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
