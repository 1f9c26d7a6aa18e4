package cluster_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
	"github.com/elasticjob-go/elasticjob/test/netproxy"
)

// TestFailoverToAReplicaBehind: the database fails over to a replica that lacks the last commits. The servers report
// that and do not lead, even after a restart, until a user accepts the loss.
func TestFailoverToAReplicaBehind(t *testing.T) {
	t.Parallel()
	db, replica := mariadb.StartWithReplica(t)
	c := system.NewClusterInSQL(t, bin, db, nil)
	proxy := netproxy.Start(t, db.Address())
	c.Registry = strings.Replace(c.Registry, db.Address(), proxy.Address(), 1)
	c.StartServers(2)
	c.AwaitLeader()
	c.App("app", writes, nil)
	c.Job("kept", "app", nil)
	c.Run("kept", "FINISHED")
	changes := func(db *mariadb.Server) (n int64) {
		if err := db.Root(t).QueryRow("SELECT changes FROM history1.REGISTRY_FENCE").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	c.Until("the replica has all changes of the database", func() string {
		if has, want := changes(replica), changes(db); has < want {
			return fmt.Sprintf("change %d of %d", has, want)
		}
		return ""
	})
	replica.StopFollowing(t)
	c.Job("lost", "app", nil)
	c.Run("lost", "FINISHED")

	db.Kill()
	proxy.FailOver(replica.Address())
	refusesToLead(c)
	for n := 1; n <= 2; n++ {
		c.KillServer(n)
	}
	for n := 1; n <= 2; n++ {
		c.StartServer(n)
	}
	refusesToLead(c)

	accept := exec.Command(bin.Scheduler(), "accept-registry")
	accept.Env = []string{"HOME=" + c.Dir, "ELASTICJOB_REGISTRY=" + c.Registry}
	said, err := accept.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(said), "accepted: the registry is at change ") {
		t.Fatalf("scheduler accept-registry: %v\n%s", err, said)
	}
	t.Logf("%s", said)
	c.AwaitLeader()
	c.Refused(http.StatusNotFound, "job_not_found", "GET", "/api/job/lost/explain", "")
	c.Run("kept", "FINISHED")
	for n := 1; n <= 2; n++ {
		c.Via(n)
		c.Ready()
	}
}

// refusesToLead waits until both servers report the problem and the remedy, and checks for longer than any lease that
// neither leads.
func refusesToLead(c *system.Cluster) {
	c.Helper()
	for n := 1; n <= 2; n++ {
		c.Via(n)
		c.Until(fmt.Sprintf("server %d says that the database went back", n), func() string {
			a := c.Call("GET", "/readyz", "")
			for _, words := range []string{"went back", "scheduler accept-registry"} {
				if a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, words) ||
					!strings.Contains(c.ServerLog(n), words) {
					return fmt.Sprintf("%d %s", a.Status, a.Body)
				}
			}
			return ""
		})
	}
	until := time.Now().Add(2 * c.SessionTimeout)
	c.Until("a lease would have ended", func() string {
		if said := c.WhoLeads(); said != "" {
			c.Fatalf("a server leads although the database lacks commits, or is not healthy%s", said)
		}
		if time.Now().Before(until) {
			return "not yet"
		}
		return ""
	})
}
