package agent

import (
	"context"
	"errors"
	"log/slog"

	"github.com/elasticjob-go/elasticjob/cluster/local/master"
)

// Ping answers with pong on the way that all updates take: an agent whose alarms, lock or
// uplink hang does not. One that the master does not count on any more
// registers anew first, with all that it has.
func (a *Agent) Ping(connected bool, pong func()) {
	a.alarms.after(0, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.closed {
			return
		}
		if !connected && !a.recovering && !a.returning {
			a.registerAgain()
		}
		a.uplink.tell(func(master.Upstream) { pong() })
	})
}

func (a *Agent) registerAgain() {
	a.returning = true
	still := a.still()
	a.log.Warn("master had lost this agent, registering again", "agent", a.id, "executors", len(still.Executors), "tasks", len(still.Tasks))
	a.uplink.tell(func(up master.Upstream) {
		if err := up.Register(a, still); err != nil {
			a.cannotRegister(err)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.returning = false
	})
}

// cannotRegister logs a registration that failed; one that was given up is no fault.
func (a *Agent) cannotRegister(err error) {
	level := slog.LevelError
	if errors.Is(err, context.Canceled) {
		level = slog.LevelInfo
	}
	a.log.Log(context.Background(), level, "agent cannot register with its master", "agent", a.id, "error", err)
}
