package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestContexts(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.ok("context", "set", "prod", "--server", "https://jobs.example.com/")
	s.ok("context", "set", "test", "--server", "test:8899")
	if status, _, err := s.run("ejt_1\n", "context", "set", "test", "--token-file", "-"); status != 0 {
		t.Fatal(err)
	}
	golden(t, "contexts.txt", s.ok("context", "list"))
	s.ok("context", "use", "test")
	golden(t, "context.json", s.ok("context", "show", "-o", "json"))
	if status, _, err := s.run("", "context", "use", "tes"); status != statusUsage ||
		!strings.Contains(err, "did you mean test?") {
		t.Errorf("status %d: %s", status, err)
	}
	s.ok("context", "delete", "test")
	if got := s.ok("context", "show"); !strings.Contains(got, "http://127.0.0.1:8899") {
		t.Errorf("with no context in use the server is %s", got)
	}
}

// TestContextsAreForTheirOwnerOnly: the file of contexts is created with mode 0600, and rejected if others can read
// it.
func TestContextsAreForTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.ok("context", "set", "prod", "--server", "https://jobs.example.com")
	file := filepath.Join(s.env["XDG_CONFIG_HOME"], "elasticjob", "contexts.yaml")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v: want mode 0600", info, err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	status, _, said := s.run("", "context", "list")
	if status != statusUsage || !strings.Contains(said, "chmod 600 "+file) {
		t.Errorf("status %d: %s: want the command that corrects it", status, said)
	}
}

// TestWhichServer: the order of precedence is flags, environment, current context. A token is sent only to its own
// server.
func TestWhichServer(t *testing.T) {
	t.Parallel()
	contexts := func(t *testing.T, env map[string]string) *session {
		s := newSession(t)
		for name, server := range map[string]string{"one": "http://one", "two": "http://two"} {
			if status, _, err := s.run("token-"+name, "context", "set", name, "--server", server, "--token-file",
				"-"); status != 0 {
				t.Fatal(err)
			}
		}
		s.ok("context", "use", "one")
		for name, value := range env {
			s.env[name] = value
		}
		return s
	}
	for name, test := range map[string]struct {
		env             map[string]string
		context, server string
		want            target
	}{
		"the context in use":    {want: target{"one", "http://one", "token-one", ""}},
		"$ELASTICJOB_CONTEXT":   {env: map[string]string{"ELASTICJOB_CONTEXT": "two"}, want: target{"two", "http://two", "token-two", ""}},
		"$ELASTICJOB_SERVER":    {env: map[string]string{"ELASTICJOB_SERVER": "three", "ELASTICJOB_CONTEXT": "two"}, want: target{"", "http://three", "", ""}},
		"a known server":        {env: map[string]string{"ELASTICJOB_SERVER": "http://two/"}, want: target{"two", "http://two", "token-two", ""}},
		"--context":             {env: map[string]string{"ELASTICJOB_SERVER": "three"}, context: "two", want: target{"two", "http://two", "token-two", ""}},
		"--server":              {env: map[string]string{"ELASTICJOB_CONTEXT": "two"}, server: "four", want: target{"", "http://four", "", ""}},
		"$ELASTICJOB_TOKEN":     {env: map[string]string{"ELASTICJOB_TOKEN": "mine"}, want: target{"one", "http://one", "mine", ""}},
		"--context has a token": {env: map[string]string{"ELASTICJOB_TOKEN": "mine"}, context: "two", want: target{"two", "http://two", "token-two", ""}},
		"a token alone":         {env: map[string]string{"ELASTICJOB_TOKEN": "mine"}, server: "four", want: target{"", "http://four", "mine", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, _, _ := contexts(t, test.env).cli("")
			a.context, a.server = test.context, test.server
			if got, err := a.target(); err != nil || got != test.want {
				t.Errorf("%+v, %v: want %+v", got, err, test.want)
			}
		})
	}
}

// TestATokenIsForgottenWithItsServer: when the server of a context changes, the token must not be sent to the new
// one.
func TestATokenIsForgottenWithItsServer(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	if status, _, err := s.run("ejt_1", "context", "set", "prod", "--server", "http://one", "--token-file",
		"-"); status != 0 {
		t.Fatal(err)
	}
	s.ok("context", "set", "prod", "--server", "http://two")
	if got := s.ok("context", "show", "prod", "-o", "json"); !strings.Contains(got, `"token": false`) {
		t.Error(got)
	}
}

// TestALoginLeavesOthersContexts: a login does not overwrite the context of another server. https and http of one
// host are different servers, and so are two paths of it.
func TestALoginLeavesOthersContexts(t *testing.T) {
	t.Parallel()
	server, asked := serve(t, http.NotFound)
	host := strings.TrimPrefix(server, "http://")
	s := newSession(t)
	s.ok("context", "set", host, "--server", "https://"+host)
	status, _, err := s.run("password\n", "login", "--server", server, "--user", "ann")
	if status != statusUsage || !strings.Contains(err, "context set NAME --server "+server) || asked.Load() != 0 {
		t.Errorf("status %d after %d requests: %s", status, asked.Load(), err)
	}
	if got := s.ok("context", "show", host); !strings.Contains(got, "https://"+host) {
		t.Errorf("the other context is %s", got)
	}
}

// TestAnEmptyFileHasNoContexts: an empty file is valid and has no contexts.
func TestAnEmptyFileHasNoContexts(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	dir := filepath.Join(s.env["XDG_CONFIG_HOME"], "elasticjob")
	if err := errors.Join(os.Mkdir(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "contexts.yaml"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := s.ok("context", "list"); !strings.Contains(got, "there are no contexts") {
		t.Error(got)
	}
	s.ok("context", "set", "prod", "--server", "https://jobs.example.com")
}

func TestBadContexts(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no server":    {"context", "set", "x"},
		"a password":   {"context", "set", "x", "--server", "http://me:secret@host"},
		"no token":     {"context", "set", "x", "--server", "http://host", "--token-file", "-"},
		"both":         {"app", "list", "--context", "a", "--server", "b"},
		"unknown":      {"app", "list", "--context", "nope"},
		"bad output":   {"app", "list", "-o", "jsn"},
		"no file":      {"app", "publish", "-f", "/nonexistent"},
		"bad document": {"app", "publish", "-f", "-"},
		"top as JSON":  {"top", "-o", "json"},
		"apply a file": {"apply", "jobs/"},
		"diff a file":  {"diff", "jobs/"},
		"export what":  {"export", "billing"},
		"import what":  {"import", "crontab"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, out, err := newSession(t).run("", args...)
			if strings.Contains(err, "unknown command") || status != statusUsage || out != "" ||
				strings.Contains(err, "secret") || !strings.HasPrefix(err, "elasticjob: ") {
				t.Errorf("status %d, %q, %q", status, out, err)
			}
		})
	}
}
