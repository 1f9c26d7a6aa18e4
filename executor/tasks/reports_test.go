package tasks

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// listener is an agent that counts heartbeats.
type listener struct {
	agent.API
	beats int
}

func (l *listener) Message(_ context.Context, data []byte) error {
	if wire.IsHeartbeat(data) {
		l.beats++
	}
	return nil
}

// TestHeartbeats: a connected executor sends a heartbeat soon, and then one every five seconds; one that is not
// connected sends none.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	for connected, want := range map[bool]int{true: 12, false: 0} {
		synctest.Test(t, func(t *testing.T) {
			to, ledger := &listener{}, agent.NewLedger()
			if connected {
				ledger.Connect(nil)
			}
			ctx, end := context.WithTimeout(t.Context(), time.Minute+500*time.Millisecond)
			defer end()
			newReports().send(ctx, to, ledger, slog.New(slog.DiscardHandler))
			if to.beats != want {
				t.Errorf("connected %v: %d heartbeats in a minute, want %d", connected, to.beats, want)
			}
		})
	}
}
