package cluster_test

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestRefusedAtStart: permanent errors end the server with status 1 or 2 and a message that names what is wrong.
func TestRefusedAtStart(t *testing.T) {
	t.Parallel()
	c := system.NewCluster(t, bin, 1, nil)
	with := func(zk, mesos string, args ...string) *exec.Cmd {
		oldZK, oldMasters := c.ZK, c.Masters
		c.ZK, c.Masters = zk, mesos
		defer func() { c.ZK, c.Masters = oldZK, oldMasters }()
		return c.ServerCommand(9, args...)
	}
	for _, test := range []struct {
		name string
		cmd  *exec.Cmd
		want []string
	}{
		{"chroot that isn't there", with(c.ZK+"/no/such", c.Masters), []string{"/no/such"}},
		{"no address of a ZooKeeper", with("h1:port", c.Masters), []string{"--zk", "h1:port"}},
		{"no address of a master", with(c.ZK, "mesos.example"), []string{"--mesos", "mesos.example"}},
		{"a ZooKeeper path that is none", with(c.ZK, "zk://"+c.ZK), []string{"--mesos", "/mesos"}},
		{"--local with --zk", with(c.ZK, c.Masters, "--local"), []string{"--local", "--zk"}},
		{"a namespace that is none", with(c.ZK, c.Masters, "--zk-namespace", "a//b"), []string{"--zk-namespace", "a//b"}},
		{"a session timeout that is none", with(c.ZK, c.Masters, "--zk-session-timeout", "-1s"), []string{"--zk-session-timeout"}},
		{"all addresses without a name", with(c.ZK, c.Masters, "--listen", "0.0.0.0:0"), []string{"--listen", "--advertise"}},
		{"a token file that isn't there", with(c.ZK, c.Masters, "--api-token-file", "/no/such/file"), []string{"--api-token-file", "/no/such/file"}},
		{"an empty token", with(c.ZK, c.Masters, "--api-token-file", c.Secret("token", "")), []string{"--api-token-file"}},
		{"credentials that are none", with(c.ZK, c.Masters, "--mesos-credentials-file", c.Secret("credentials", "just-one-word")), []string{"credentials"}},
		{"properties with unknown keys", with(c.ZK, c.Masters, "--config", c.Secret("p", "zk_servers=a:1\nzk_serverz=b:2\nhttp_port=many\n")), []string{"zk_serverz", "http_port", "many"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, said := c.Fails(test.cmd)
			if status != 1 && status != 2 {
				t.Errorf("status %d, want 1 or 2", status)
			}
			for _, want := range test.want {
				if !strings.Contains(said, want) {
					t.Errorf("it says %q, want it to name %s", said, want)
				}
			}
			if strings.Contains(said, "just-one-word") {
				t.Errorf("it shows the content of a secret file: %s", said)
			}
		})
	}
}

// TestHealsWithTime: if ZooKeeper or Mesos is unreachable or rejects the server, the server waits, says what is wrong,
// and works once that is fixed.
func TestHealsWithTime(t *testing.T) {
	t.Parallel()
	c := system.NewCluster(t, bin, 1, nil)
	says := func(n int, words ...string) {
		t.Helper()
		c.Via(n)
		c.Unready(words...)
	}
	c.KillMesos()
	c.ZooKeepers[0].Kill()
	c.StartServer(1)
	says(1, c.ZooKeepers[0].Address())
	c.ZooKeepers[0].Restart()
	c.StartMesos()
	c.Ready()
	c.KillServer(1)
	c.KillMesos()

	masters := c.Masters
	noMesos := httptest.NewServer(http.NotFoundHandler())
	defer noMesos.Close()
	c.Masters = noMesos.URL
	c.StartServer(1)
	says(1, strings.TrimPrefix(noMesos.URL, "http://"), "Mesos")
	c.KillServer(1)

	c.Masters = "zk://" + c.ZK + "/mesos"
	c.StartServer(1) // no master is registered
	says(1, "/mesos")
	c.KillServer(1)

	c.Masters = masters
	c.StartServer(1) // nothing listens there
	says(1, c.MesosAddress())
	c.StartMesos()
	c.Ready()
	c.KillServer(1)

	c.StartServer(1, "--mesos-credentials-file", c.Secret("wrong", "somebody wrong-secret"))
	says(1, "--mesos-credentials-file")
	if strings.Contains(c.ServerLog(1), "wrong-secret") {
		t.Error("the log shows the secret")
	}
}

// TestToken: with a token file, each request needs the token, and no output contains the token.
func TestToken(t *testing.T) {
	t.Parallel()
	c := system.NewCluster(t, bin, 1, nil)
	c.StartServers(2, "--api-token-file", c.Secret("token", "the-secret-token"))
	c.AwaitLeader()
	for n := 1; n <= 2; n++ {
		c.Via(n)
		c.Refused(http.StatusUnauthorized, "token_missing", "GET", "/api/job/jobs", "")
		c.Refused(http.StatusUnauthorized, "bad_token", "GET", "/api/job/jobs", "", "Authorization: Bearer wrong")
		c.OK("GET", "/api/job/jobs", "", "Authorization: Bearer the-secret-token")
		if strings.Contains(c.ServerLog(n), "the-secret-token") {
			t.Errorf("the log of server %d shows the token", n)
		}
	}
}
