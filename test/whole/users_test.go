package whole_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

const password = "a password of many words"

// scheduler runs a command of the scheduler with this standard input, and returns its output.
func scheduler(m *system.Machine, input string, args ...string) string {
	m.Helper()
	cmd := exec.Command(bin.Scheduler(), args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.Dir}
	cmd.Stdin = strings.NewReader(input)
	status, said := m.Fails(cmd)
	if status != 0 {
		m.Fatalf("scheduler %s: status %d, %s", strings.Join(args, " "), status, said)
	}
	return said
}

// login returns the header for requests of a user.
func login(m *system.Machine, name, password string) string {
	m.Helper()
	var said struct{ AccessToken string }
	body := m.OK("POST", "/api/login", fmt.Sprintf(`{"username":%q,"password":%q}`, name, password))
	if err := json.Unmarshal([]byte(body), &said); err != nil || said.AccessToken == "" {
		m.Fatalf("login of %s: %s, %v", name, body, err)
	}
	return "accessToken: " + said.AccessToken
}

// TestUsersOfAServerThatDoesNotRun: users added before the first start exist from the start on.
func TestUsersOfAServerThatDoesNotRun(t *testing.T) {
	t.Parallel()
	m := system.New(t, bin)
	scheduler(m, password, "user", "add", "ann", "--role", "admin", "--local", "--data-dir", m.Dir)
	scheduler(m, password, "user", "add", "vic", "--role", "viewer", "--apps", "b*", "--data-dir", m.Dir)
	said := scheduler(m, "", "token", "add", "ci", "--role", "operator", "--data-dir", m.Dir)
	token := "Authorization: Bearer " + strings.TrimSpace(said[strings.Index(said, "ejt_"):])
	m.Start()
	m.Refused(http.StatusUnauthorized, "token_missing", "GET", "/api/app/list", "")
	m.Refused(http.StatusUnauthorized, "bad_credentials", "POST", "/api/login",
		`{"username":"ann","password":"wrong password"}`)
	ann, vic := login(m, "ann", password), login(m, "vic", password)
	app := func(name string) string {
		return fmt.Sprintf(`{"appName":%q,"appURL":"http://127.0.0.1/x.tar","bootstrapScript":"x"}`, name)
	}
	m.OK("POST", "/api/app", app("a"), ann)
	m.OK("POST", "/api/app", app("b"), ann)
	m.Refused(http.StatusForbidden, "not_allowed", "POST", "/api/app", app("c"), token)
	m.Refused(http.StatusForbidden, "not_allowed", "POST", "/api/app", app("b2"), vic)
	m.OK("POST", "/api/app/a/disable", "", token)
	if all := m.OK("GET", "/api/app/list", "", vic); !strings.Contains(all, `"b"`) || strings.Contains(all, `"a"`) {
		t.Errorf("a user for b* sees %s", all)
	}
	text, err := os.ReadFile(filepath.Join(m.Dir, "registry.db"))
	if err != nil || strings.Contains(string(text), password) ||
		strings.Contains(string(text), token[len("Authorization: Bearer "):]) {
		t.Errorf("the registry contains a password or a token: %v", err)
	}
	if log := m.ServerLog(); strings.Contains(log, password) || strings.Contains(log, "ejt_") ||
		strings.Contains(log, "ejl_") {
		t.Error("the log contains a password or a token")
	}
}

// TestUsersOfARunningServer: the commands use the server that has the registry's file open, and take effect at once.
func TestUsersOfARunningServer(t *testing.T) {
	m := start(t)
	m.OK("GET", "/api/app/list", "") // open to this machine
	scheduler(m, password, "user", "add", "ann", "--role", "admin", "--data-dir", m.Dir)
	m.Refused(http.StatusUnauthorized, "token_missing", "GET", "/api/app/list", "")
	ann := login(m, "ann", password)
	m.OK("GET", "/api/app/list", "", ann)
	if said := scheduler(m, "", "user", "list", "--data-dir", m.Dir); !strings.Contains(said, "ann    admin   all") {
		t.Errorf("user list: %s", said)
	}
	m.Until("the change is in the audit", func() string {
		rows := m.OK("GET", "/api/audit?action=user.add", "", ann)
		if strings.Contains(rows, `"targetName":"ann"`) && strings.Contains(rows, `"kind":"machine"`) {
			return ""
		}
		return rows
	})
	said := scheduler(m, "", "token", "add", "ci", "--role", "viewer", "--expires", "1h", "--data-dir", m.Dir)
	token := "Authorization: Bearer " + strings.TrimSpace(said[strings.Index(said, "ejt_"):])
	m.OK("GET", "/api/app/list", "", token)
	scheduler(m, "", "token", "rm", "ci", "--data-dir", m.Dir)
	m.Refused(http.StatusUnauthorized, "bad_token", "GET", "/api/app/list", "", token)
	scheduler(m, password+"!", "user", "passwd", "ann", "--data-dir", m.Dir)
	m.Refused(http.StatusUnauthorized, "token_revoked", "GET", "/api/app/list", "", ann)
	login(m, "ann", password+"!")

	m.Kill() // the socket remains
	if said := scheduler(m, "", "user", "list", "--data-dir", m.Dir); !strings.Contains(said, "ann") {
		t.Errorf("user list without a server: %s", said)
	}
	m.Start()
	ann = login(m, "ann", password+"!")
	scheduler(m, "", "user", "rm", "ann", "--data-dir", m.Dir)
	m.OK("GET", "/api/app/list", "") // open again
}
