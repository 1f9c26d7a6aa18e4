package system

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"
)

// LeaderView is what a server says of who leads.
type LeaderView struct {
	Address string
	Term    int64
	Since   time.Time
	Self    bool
}

// AwaitLeader waits until a server other than those that are named says that it
// leads and is ready, and chooses it for requests.
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

// leads asks the servers which of them leads and is ready, and gives 0 and what they say if none does.
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

// leading reports whether a server says at a path, /readyz or /healthz, that it leads, and whether the answer was 200.
// says is the answer.
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

// WhoLeads is what a server says that leads or does not answer, "" if there is none.
func (c *Cluster) WhoLeads() (said string) {
	for n, s := range c.servers {
		if leads, well, says := c.leading(s, "/healthz"); leads || !well {
			said += fmt.Sprintf("; server %d: %s", n, says)
		}
	}
	return said
}

// KillLeader ends the leader with kill -9, waits for the next one, and starts the old one again behind it. Requests go
// to the next one.
func (c *Cluster) KillLeader(leader int) (next int) {
	c.Helper()
	c.KillServer(leader)
	next = c.AwaitLeader(leader)
	c.StartServer(leader)
	return next
}

// FreezeLeader stops the leader until another one leads, to which requests go, and something was done with that one.
// Then the old one goes on, and FreezeLeader waits until it follows.
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
