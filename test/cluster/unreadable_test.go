package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestUnreadableDocument: a document that its ACL makes unreadable counts as faulty, for the present leader and for a
// new one, and other documents are not affected. When it becomes readable again, it is applied.
func TestUnreadableDocument(t *testing.T) {
	c := start(t, 1)
	c.App("a", writes, nil)
	c.Job("good", "a", nil)
	c.Job("shut", "a", system.Doc{"cron": "0 0 3 * * ?"})
	const path = "/config/job/shut"
	setACL := func(perms int32) {
		if _, err := c.ZKClient().SetACL("/elasticjob-cloud"+path, zk.WorldACL(perms), -1); err != nil {
			t.Fatal(err)
		}
	}
	awaitFaulty := func(want string) {
		t.Helper()
		c.Until("the list of faulty documents contains "+want, func() string {
			if got := c.OK("GET", "/api/operate/faulty", ""); !strings.Contains(got, want) {
				return got
			}
			return ""
		})
	}
	awaitFaulty("[]")
	// For the present leader, the last valid version stays in force.
	setACL(zk.PermAll &^ zk.PermRead)
	awaitFaulty(`"lastGood":true`)
	if x := c.Explain("shut"); len(x.NextFires) == 0 || !strings.Contains(fmt.Sprint(x.Notes), "getAcl") {
		t.Errorf("%+v", x)
	}
	c.Run("shut", "FINISHED")
	setACL(zk.PermAll)
	awaitFaulty("[]")
	// A new leader cannot use the document at all.
	setACL(zk.PermAll &^ zk.PermRead)
	c.KillServer(1)
	c.StartServer(1)
	leader := c.AwaitLeader()
	awaitFaulty(`"lastGood":false`)
	if x := c.Explain("shut"); x.State != "FAULTY" || !strings.Contains(fmt.Sprint(x.Notes), "getAcl") {
		t.Errorf("%+v", x)
	}
	if log := c.ServerLog(leader); !strings.Contains(log, path) {
		t.Error("the log does not name the document")
	}
	c.Run("good", "FINISHED")
	setACL(zk.PermAll)
	awaitFaulty("[]")
	c.Run("shut", "FINISHED")
}
