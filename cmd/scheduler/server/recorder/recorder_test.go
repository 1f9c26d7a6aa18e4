package recorder

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/history"
	"github.com/elasticjob-go/elasticjob/history/event"
)

// TestWarningAboutRowsInOutbox checks that a start without a database warns about rows that an earlier start left in
// the outbox, and keeps them.
func TestWarningAboutRowsInOutbox(t *testing.T) {
	t.Parallel()
	c := settings.Config{DataDir: t.TempDir(), History: settings.History{OutboxMB: 1}}
	start := func() string {
		var said bytes.Buffer
		r, err := Start(&c, slog.New(slog.NewTextHandler(&said, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.End(); err != nil {
			t.Error(err)
		}
		return said.String()
	}
	if said := start(); said != "" {
		t.Errorf("without an outbox: %s", said)
	}
	r, err := history.Open(history.Options{Dir: filepath.Join(c.DataDir, "outbox"), OutboxBytes: 1 << 20,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r.Append(event.Batch{Term: 1, Number: 1, Rows: event.Rows{Traces: []event.Trace{{ID: "x", Time: time.Now()}}}})
	r.Settle(1, 1, true)
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if said := start(); strings.Count(said, "level=WARN") != 1 || !strings.Contains(said, "--db") ||
			!strings.Contains(said, "rows=1") {
			t.Errorf("with a row: %s", said)
		}
	}
}
