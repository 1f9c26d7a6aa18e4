package system

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"
)

// LeaderView is what a server says about the leader.
type LeaderView struct {
	Address string
	Term    int64
	Since   time.Time
	Self    bool
}

// AwaitLeader waits until a server that is not listed in not is a ready leader, and chooses it for requests.
func (c *Cluster) AwaitLeader(not ...int) int {
	c.Helper()
	leader := 0
	c.Until("a server leads", func() (said string) {
		leader, said = c.leads(not...)
		return said
	})
	c.Via(leader)
	return leader
}

// leads returns the server that is a ready leader, or 0 and the answers of the servers.
func (c *Cluster) leads(not ...int) (leader int, said string) {
	said = "no server runs"
	for n, s := range c.servers {
		if slices.Contains(not, n) || !c.Runs(n) {
			continue
		}
		leads, ready, says := c.leading(s, "/readyz")
		if leads && ready {
			return n, ""
		}
		said += fmt.Sprintf("; server %d: %s", n, says)
	}
	return 0, said
}

// leading reports whether a server says in the answer of path, /readyz or /healthz, that it leads, and whether the
// status was 200. says is the answer.
func (c *Cluster) leading(s *server, path string) (leads, well bool, says string) {
	a, err := send(c.client, "GET", s.url+path, "", nil)
	if err != nil {
		return false, false, err.Error()
	}
	return strings.Contains(a.Body, `"leading":true`), a.Status == http.StatusOK, a.Body
}

// AwaitNoLeader waits until every server says that it does not lead.
func (c *Cluster) AwaitNoLeader() {
	c.Helper()
	c.Until("nobody leads", c.WhoLeads)
}

// WhoLeads returns the answers of servers that lead or are not healthy; "" if there is none.
func (c *Cluster) WhoLeads() (said string) {
	for n, s := range c.servers {
		if leads, well, says := c.leading(s, "/healthz"); leads || !well {
			said += fmt.Sprintf("; server %d: %s", n, says)
		}
	}
	return said
}

// KillLeader kills the leader with SIGKILL, waits for the next one, and restarts the old one as a standby. Requests
// go to the next one.
func (c *Cluster) KillLeader(leader int) (next int) {
	c.Helper()
	c.KillServer(leader)
	next = c.AwaitLeader(leader)
	c.StartServer(leader)
	return next
}

// FreezeLeader stops the leader with SIGSTOP until another one leads, and sends requests to that one while meanwhile
// runs. It then continues the old leader, and waits until that has become a standby.
func (c *Cluster) FreezeLeader(leader int, meanwhile func()) (next int) {
	c.Helper()
	c.SignalServer(leader, syscall.SIGSTOP)
	next = c.AwaitLeader(leader)
	meanwhile()
	c.SignalServer(leader, syscall.SIGCONT)
	c.Until("the old leader knows that its term is over, and follows", func() string {
		if leads, ready, says := c.leading(c.servers[leader], "/readyz"); leads || !ready {
			return says
		}
		return ""
	})
	return next
}
