package tasks

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// silent is a sink of programs without output.
type silent struct{ output.Sink }

func (silent) Cause(_, failure string, _ output.Mark, _ func([]byte) string) string { return failure }

// TestTheLastUpdateSaysThatProcessesCannotBeKilled: the scheduler places no other attempt then (rule K5).
func TestTheLastUpdateSaysThatProcessesCannotBeKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		unkilled     bool
		conversation conversation
		state        agent.State
	}{
		"killed on request":         {true, conversation{}, agent.Killed},
		"it ended":                  {false, conversation{}, agent.Killed},
		"after its run succeeded":   {true, conversation{hello: true, done: true}, agent.Finished},
		"it closed its pipe before": {true, conversation{hello: true, closed: true}, agent.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := slog.New(slog.DiscardHandler)
			h := &host{Options: Options{Ledger: agent.NewLedger(), Outputs: silent{}, Log: log}}
			assigned := agent.Assignment{ID: "a"}
			h.Ledger.Add(assigned)
			task := newTask(h, assigned, 1)
			if !c.conversation.hello {
				task.kill(0, "asked to end")
			}
			exit := processExit{Exit: supervisor.Exit{Killed: true, Unkilled: c.unkilled, At: time.Now()}}
			task.endedWithLease(exit)
			task.reportExit(exit, c.conversation)
			h.Ledger.Connect(nil)
			update, found := h.Ledger.Take()
			status, decoded := wire.DecodeStatus(update.Data)
			if !found || !decoded || update.State != c.state || status.Unkilled != c.unkilled {
				t.Fatalf("the last update: %+v with status %+v", update, status)
			}
			if c.state == agent.Killed && strings.Contains(status.Cause, "can't be killed") != c.unkilled {
				t.Errorf("the cause: %s", status.Cause)
			}
		})
	}
}
