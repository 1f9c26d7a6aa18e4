package commandline_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

const password = "a password of many words"

// withUsers returns a machine whose server has a user and an API token, and the token.
func withUsers(t *testing.T) (*user, string) {
	t.Helper()
	t.Parallel()
	m := system.New(t, bin)
	server := func(input string, args ...string) string {
		cmd := exec.Command(bin.Scheduler(), args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.Dir}
		cmd.Stdin = strings.NewReader(input)
		status, said := m.Fails(cmd)
		if status != 0 {
			t.Fatalf("scheduler %s: %s", strings.Join(args, " "), said)
		}
		return said
	}
	server(password, "user", "add", "ann", "--role", "admin", "--data-dir", m.Dir)
	said := server("", "token", "add", "ci", "--role", "viewer", "--data-dir", m.Dir)
	m.Start()
	return userOf(m), strings.TrimSpace(said[strings.Index(said, "ejt_"):])
}

func TestLogin(t *testing.T) {
	u, _ := withUsers(t)
	u.fails(5, []string{`"elasticjob login"`, "ELASTICJOB_TOKEN"}, "job", "list")
	if s := u.runs("wrong\n", "login", "--user", "ann"); s.status != 5 || strings.Contains(s.err, "wrong\n") {
		t.Errorf("a wrong password: %+v", s)
	}
	s := u.types("login")
	s.shows("User at " + u.URL())
	s.press("ann\r")
	s.shows("Password: ")
	s.press(password + "\r")
	if status := s.ends(); status != 0 || strings.Contains(s.out.String(), password) {
		t.Fatalf("status %d: %q", status, s.out.String())
	}
	u.has(s.out.String(), "ann is logged in at "+u.URL())
	u.has(u.does("job", "list"), "no job matches")
	if got := u.does("context", "list", "-o", "json") + u.does("context", "show"); strings.Contains(got, "ejl_") {
		t.Errorf("the token is shown: %s", got)
	}
	// The logout must end the login on the server too, so that a copy of the token is of no use.
	contexts, err := os.ReadFile(u.home + "/.config/elasticjob/contexts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	u.has(u.does("logout"), "logged out")
	u.fails(5, nil, "job", "list")
	if err := os.WriteFile(u.home+"/.config/elasticjob/contexts.yaml", contexts, 0o600); err != nil {
		t.Fatal(err)
	}
	u.fails(5, []string{`"elasticjob login"`}, "job", "list")
	if s := u.runs(password+"\n", "login", "--user", "ann"); s.status != 0 {
		t.Errorf("a password from standard input: %+v", s)
	}
}

// TestAToken: a token is taken from the environment or from a context. If the token's role does not permit a command,
// the error names the role.
func TestAToken(t *testing.T) {
	u, token := withUsers(t)
	server := u.URL()
	u.env = nil
	u.does("context", "set", "test", "--server", server, "--token-file", u.file("token", token+"\n"))
	u.has(u.does("job", "list"), "no job matches")
	u.fails(5, []string{"role"}, "app", "delete", "x")
	u.does("context", "set", "test", "--no-token")
	u.fails(5, nil, "job", "list")
	u.env = []string{"ELASTICJOB_TOKEN=" + token}
	u.has(u.does("job", "list"), "no job matches")
	u.has(u.does("version"), "server  dev")
}
