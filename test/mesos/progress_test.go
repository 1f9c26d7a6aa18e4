package mesos_test

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestProgress: the progress that a task reports reaches the server as a message of the cluster.
func TestProgress(t *testing.T) {
	both(t, system.Setup{Agents: 1}, func(_ *testing.T, c *system.Cluster) {
		c.StartServers(1)
		c.AwaitLeader()
		path, release := c.Hold()
		c.App("a", system.Files{"bin/start.sh": `#!/bin/sh
printf '%s\n' '{"type":"progress","fraction":0.4,"message":"4000 of 10000 rows"}' >&4
while [ -e "$HOLD" ]; do sleep 0.1; done
`}, nil)
		c.Job("j", "a", system.Doc{"env": map[string]string{"HOLD": path}})
		id := c.Trigger("j")
		c.Until("progress", func() string {
			if text := c.OK("GET", "/api/execution/"+id, ""); !strings.Contains(text, `"progress":{"fraction":0.4,`) {
				return text
			}
			return ""
		})
		release()
		c.Await(id, "FINISHED")
	})
}
