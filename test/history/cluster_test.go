package history_test

import (
	"fmt"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
)

// TestAnotherLeads: the leader is killed while the database is down. When the database is back, the next leader
// writes the ends of executions, which are kept in the registry until they are stored (rule H1). Rows that exist only
// on the disk of the first leader are written when that server is started again.
func TestAnotherLeads(t *testing.T) {
	t.Parallel()
	s := mariadb.Start(t)
	dsn := s.Database(t)
	c := system.NewCluster(t, bin, 1, nil)
	h := look(t, c.Machine, s, dsn)
	c.StartServers(2, "--db", dsn)
	first := c.AwaitLeader()
	rest := load(c.Machine, 3, 3)
	awaitRuns(c.Machine, 9)
	s.Kill()
	awaitRuns(c.Machine, 18)
	rest()
	runs, executions := h.ran()
	c.KillServer(first)
	c.AwaitLeader(first)
	s.Restart(t)
	c.Until("the ends are in the database", func() string {
		got, err := h.query("SELECT CONCAT(id, ' ', state) FROM $JOB_EXECUTION WHERE state = 'FINISHED'")
		if err != nil || len(got) != len(executions) {
			return fmt.Sprintf("%d of %d: %v", len(got), len(executions), err)
		}
		return ""
	})
	ends := "SELECT task_id FROM $JOB_STATUS_TRACE_LOG WHERE state = 'TASK_FINISHED'"
	if got, err := h.query(ends); err != nil || len(got) >= len(runs) {
		t.Errorf("%d traces of %d ends are in the database already: %v", len(got), len(runs), err)
	}
	c.StartServer(first, "--db", dsn)
	h.awaitComplete()
	c.Until("the rows on the first leader's disk are in the database", func() string {
		if got, err := h.query(ends); err != nil || len(got) != len(runs) {
			return fmt.Sprintf("%d traces of %d ends: %v", len(got), len(runs), err)
		}
		return ""
	})
	noneLost(c.Machine)
}
