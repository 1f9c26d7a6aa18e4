package cluster_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestUsersAreInForceOnAllServers: a command changes the users in ZooKeeper, and each server applies the change
// within seconds, whether it leads or not.
func TestUsersAreInForceOnAllServers(t *testing.T) {
	c := start(t, 2)
	scheduler := func(input string, args ...string) string {
		t.Helper()
		cmd := exec.Command(bin.Scheduler(), append(args, "--zk", c.ZK)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.Dir}
		cmd.Stdin = strings.NewReader(input)
		status, said := c.Fails(cmd)
		if status != 0 {
			t.Fatalf("scheduler %s: status %d, %s", strings.Join(args, " "), status, said)
		}
		return said
	}
	onBoth := func(what string, status int, header string) {
		t.Helper()
		for n := 1; n <= 2; n++ {
			c.Via(n)
			c.Until(what, func() string {
				if a, err := c.Try("GET", "/api/app/list", "", header); err != nil || a.Status != status {
					return a.Body
				}
				return ""
			})
		}
	}
	const noLogin = "X: y"
	onBoth("the API is open", http.StatusOK, noLogin)
	scheduler("a password of words", "user", "add", "ann", "--role", "viewer")
	onBoth("the API requires a login", http.StatusUnauthorized, noLogin)
	var said struct{ AccessToken string }
	c.Via(1)
	if err := json.Unmarshal([]byte(c.OK("POST", "/api/login", `{"username":"ann","password":"a password of words"}`)),
		&said); err != nil {
		t.Fatal(err)
	}
	onBoth("both servers accept the login at server 1", http.StatusOK, "accessToken: "+said.AccessToken)
	if all := scheduler("", "user", "list"); !strings.Contains(all, "ann") {
		t.Errorf("user list: %s", all)
	}
	scheduler("", "user", "set", "ann", "--role", "operator")
	onBoth("the login has ended", http.StatusUnauthorized, "accessToken: "+said.AccessToken)
	scheduler("", "user", "rm", "ann")
	onBoth("the API is open again", http.StatusOK, noLogin)
}
