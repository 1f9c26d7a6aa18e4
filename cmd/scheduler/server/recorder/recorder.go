// Package recorder runs the part of a server that records the history in a database.
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

// migrateTimeout is how long a start waits for the creation of the tables in the history file of --local.
const migrateTimeout = 5 * time.Second

// endTimeout is how long the end of a server waits for the recorder, whose database or disk may not answer.
const endTimeout = 5 * time.Second

// Recorder is the history of a server. Without a database only End is set.
type Recorder struct {
	// Scheduler receives the rows of the scheduler. Reads reads the history.
	Scheduler scheduler.History
	Reads     apihistory.History
	// Stats returns the recorder's statistics. Warning returns a problem that requires attention, or "".
	Stats   func() metrics.HistoryStats
	Warning func() string
	// End ends the recorder. It waits for work in progress, at most for endTimeout.
	End func() error
}

// Start starts a recorder for the rows of the scheduler, if there is a database. End must be called after the
// scheduler has ended. Rows that are not in the database by then stay in the outbox for the next start.
func Start(c *settings.Config, log *slog.Logger) (Recorder, error) {
	db, err := openDatabase(c, log)
	if db == nil || err != nil {
		if err == nil {
			warnAboutOutbox(c, log)
		}
		return Recorder{End: func() error { return nil }}, err
	}
	if c.History.DSN == "" {
		// The first readers require the tables. If this fails or takes too long, the recorder retries it and logs the
		// error.
		ctx, cancel := context.WithTimeout(context.Background(), migrateTimeout)
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
			log.Warn("history recorder not ended: its disk or its database does not answer; rows on disk are kept")
			return nil
		}
	}
	return Recorder{
		Scheduler: r, Reads: db,
		Stats:   func() metrics.HistoryStats { return historyStats(r.Status(), time.Now()) },
		Warning: func() string { return r.Status().Warning(time.Now()) },
		End: func() error {
			stop()
			return lifecycle.Within(endTimeout, end)
		},
	}, nil
}

// warnAboutOutbox logs a warning if an earlier start with a database has left rows in the outbox, because this start
// does not write them.
func warnAboutOutbox(c *settings.Config, log *slog.Logger) {
	dir := filepath.Join(c.DataDir, "outbox")
	if _, err := os.Stat(dir); err != nil {
		return
	}
	r, err := history.Open(history.Options{Dir: dir, OutboxBytes: c.History.OutboxMB << 20, Logger: log})
	if err != nil {
		log.Warn("history outbox not readable: without --db, rows that wait in it are not written",
			"folder", dir, "error", err)
		return
	}
	if s := r.Status(); s.Waiting > 0 || s.Aside > 0 {
		log.Warn("history rows of an earlier start wait in the outbox and are not written: give --db again to write them",
			"folder", dir, "rows", s.Waiting, "aside", s.Aside)
	}
	if err := lifecycle.Within(endTimeout, r.Close); err != nil {
		log.Warn("history outbox not closed", "folder", dir, "error", err)
	}
}

// historyStats converts a recorder's status into the statistics for /metrics.
func historyStats(s history.Status, now time.Time) metrics.HistoryStats {
	stats := metrics.HistoryStats{
		DatabaseUp: s.Down == "", RowsWaiting: s.Waiting, BytesWaiting: s.Bytes, MaxBytes: s.Bound,
		RowsWritten: s.Written,
		RowsLost:    metrics.LostRows{OutboxFull: s.Lost.Full, OutboxFailed: s.Lost.Failed, Refused: s.Lost.Refused},
	}
	if !s.Oldest.IsZero() {
		stats.OldestAge = max(0, now.Sub(s.Oldest))
	}
	return stats
}
