// Package recorder keeps a server's history in SQL.
package recorder

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	apihistory "github.com/elasticjob-go/elasticjob/api/history"
	"github.com/elasticjob-go/elasticjob/api/metrics"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/lifecycle"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/history"
	"github.com/elasticjob-go/elasticjob/scheduler"
)

// tablesWithin is how long a server waits at its start for the tables of its own history file.
const tablesWithin = 5 * time.Second

// recorderEnd is how long a recorder is waited for whose database or disk does not answer.
const recorderEnd = 5 * time.Second

// Recorder is what a server keeps history with; nothing but End is set where there is no database for it.
type Recorder struct {
	// Scheduler takes what is to be kept, and Reads finds it again.
	Scheduler scheduler.History
	Reads     apihistory.History
	// Stats are its numbers, and Warning is what should be looked at, or "".
	Stats   func() metrics.HistoryStats
	Warning func() string
	// End ends it, and waits for a while for what is under way.
	End func() error
}

// Start has what the scheduler records kept, if there is a database for it. It is to be ended after the
// scheduler: what is not in the database by then stays in the outbox, for the next start.
func Start(c *settings.Config, log *slog.Logger) (Recorder, error) {
	db, err := openDatabase(c, log)
	if db == nil || err != nil {
		if err == nil {
			warnOfRows(c, log)
		}
		return Recorder{End: func() error { return nil }}, err
	}
	if c.History.DSN == "" {
		// Its first readers are to find its tables. The recorder tries again what fails or takes longer, and logs it.
		ctx, cancel := context.WithTimeout(context.Background(), tablesWithin)
		_, _, _ = db.Migrate(ctx)
		cancel()
	}
	r, err := history.Open(history.Options{
		Dir: filepath.Join(c.DataDir, "outbox"), OutboxBytes: c.History.OutboxMB << 20, Database: db,
		Days: c.History.Days, Rows: c.History.Rows, Logger: log,
	})
	if err != nil {
		return Recorder{}, errors.Join(err, db.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx)
	}()
	end := func(ctx context.Context) error {
		select {
		case <-ended:
			return errors.Join(r.Close(ctx), db.Close())
		case <-ctx.Done():
			log.Warn("history recorder not ended: its disk or its database does not answer; what it has on disk is kept")
			return nil
		}
	}
	return Recorder{
		Scheduler: r, Reads: db,
		Stats:   func() metrics.HistoryStats { return historyStats(r.Status(), time.Now()) },
		Warning: func() string { return r.Status().Warning(time.Now()) },
		End: func() error {
			stop()
			return lifecycle.Within(recorderEnd, end)
		},
	}, nil
}

// warnOfRows says that an earlier start, with a database, has left rows that nobody writes now.
func warnOfRows(c *settings.Config, log *slog.Logger) {
	dir := filepath.Join(c.DataDir, "outbox")
	if _, err := os.Stat(dir); err != nil {
		return
	}
	r, err := history.Open(history.Options{Dir: dir, OutboxBytes: c.History.OutboxMB << 20, Logger: log})
	if err != nil {
		log.Warn("history outbox can't be looked at: rows that wait in it are not written, since there is no --db",
			"folder", dir, "error", err)
		return
	}
	if s := r.Status(); s.Waiting > 0 || s.Aside > 0 {
		log.Warn("history rows of an earlier start wait in the outbox, and are not written: give --db again to have them in its database", "folder", dir, "rows", s.Waiting, "aside", s.Aside)
	}
	if err := lifecycle.Within(recorderEnd, r.Close); err != nil {
		log.Warn("history outbox not closed", "folder", dir, "error", err)
	}
}

// historyStats are a recorder's numbers as /metrics shows them.
func historyStats(s history.Status, now time.Time) metrics.HistoryStats {
	stats := metrics.HistoryStats{
		DatabaseUp: s.Down == "", RowsWaiting: s.Waiting, BytesWaiting: s.Bytes, BytesMost: s.Bound,
		RowsWritten: s.Written,
		RowsLost:    metrics.LostRows{OutboxFull: s.Lost.Full, OutboxFailed: s.Lost.Failed, Refused: s.Lost.Refused},
	}
	if !s.Oldest.IsZero() {
		stats.Oldest = max(0, now.Sub(s.Oldest))
	}
	return stats
}
