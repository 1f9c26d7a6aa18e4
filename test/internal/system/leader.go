package system

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"
)

// LeaderView is a server's answer to the question who leads. Self is true if the server itself does.
type LeaderView struct {
	Address string
	Term    int64
	Since   time.Time
	Self    bool
}

// AwaitLeader waits until a server other than those in except is a ready leader, and chooses it for requests.
func (c *Cluster) AwaitLeader(except ...int) int {
	c.Helper()
	leader := 0
	c.Until("a server leads", func() (answers string) {
		leader, answers = c.findLeader(except...)
		return answers
	})
	c.Via(leader)
	return leader
}

// findLeader returns the server that is a ready leader, or 0 and the answers of the servers.
func (c *Cluster) findLeader(except ...int) (leader int, answers string) {
	answers = "no ready leader"
	for n, s := range c.servers {
		if slices.Contains(except, n) || !c.Runs(n) {
			continue
		}
		leads, ready, answer := c.askLeading(s, "/readyz")
		if leads && ready {
			return n, ""
		}
		answers += fmt.Sprintf("; server %d: %s", n, answer)
	}
	return 0, answers
}

// askLeading returns a server's answer to GET path, which is /readyz or /healthz. leads is true if the server leads
// according to the answer, ok if the status is 200.
func (c *Cluster) askLeading(s *server, path string) (leads, ok bool, answer string) {
	a, err := send(c.client, "GET", s.url+path, "", nil)
	if err != nil {
		return false, false, err.Error()
	}
	return strings.Contains(a.Body, `"leading":true`), a.Status == http.StatusOK, a.Body
}

// AwaitNoLeader waits until every server says that it does not lead.
func (c *Cluster) AwaitNoLeader() {
	c.Helper()
	c.Until("no server leads", c.WhoLeads)
}

// WhoLeads returns the answers of servers that lead or are not healthy; "" if there is none.
func (c *Cluster) WhoLeads() (answers string) {
	for n, s := range c.servers {
		if leads, healthy, answer := c.askLeading(s, "/healthz"); leads || !healthy {
			answers += fmt.Sprintf("; server %d: %s", n, answer)
		}
	}
	return answers
}

// KillLeader kills the leader with SIGKILL, waits for the next leader, and restarts the old one as a standby. Requests
// go to the next leader.
func (c *Cluster) KillLeader(leader int) (next int) {
	c.Helper()
	c.KillServer(leader)
	next = c.AwaitLeader(leader)
	c.StartServer(leader)
	return next
}

// FreezeLeader stops the leader with SIGSTOP, waits until another server leads, sends requests to that one, and calls
// meanwhile. It then continues the old leader, and waits until it has become a standby.
func (c *Cluster) FreezeLeader(leader int, meanwhile func()) (next int) {
	c.Helper()
	c.SignalServer(leader, syscall.SIGSTOP)
	next = c.AwaitLeader(leader)
	meanwhile()
	c.SignalServer(leader, syscall.SIGCONT)
	c.Until("the old leader has become a standby", func() string {
		if leads, ready, answer := c.askLeading(c.servers[leader], "/readyz"); leads || !ready {
			return answer
		}
		return ""
	})
	return next
}
