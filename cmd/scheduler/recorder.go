package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	apihistory "github.com/elasticjob-go/elasticjob/api/history"
	"github.com/elasticjob-go/elasticjob/api/metrics"
	"github.com/elasticjob-go/elasticjob/history"
	"github.com/elasticjob-go/elasticjob/scheduler"
)

// tablesWithin is how long a server waits at its start for the tables of its own history file.
const tablesWithin = 5 * time.Second

// recorderEnd is how long a recorder is waited for whose database or disk does not answer.
const recorderEnd = 5 * time.Second

// recorder is what a server keeps history with; nothing in it is set where there is no database for it.
type recorder struct {
	scheduler scheduler.History
	reads     apihistory.History
	stats     func() metrics.HistoryStats
	warning   func() string
	end       func() error
}

// startRecorder has what the scheduler records kept, if there is a database for it. It is to be ended after the
// scheduler: what is not in the database by then stays in the outbox, for the next start.
func startRecorder(c config, log *slog.Logger) (recorder, error) {
	db, err := openHistory(c, log)
	if db == nil || err != nil {
		if err == nil {
			warnOfRows(c, log)
		}
		return recorder{end: func() error { return nil }}, err
	}
	if c.db == "" {
		// Its first readers are to find its tables. The recorder tries again what fails or takes longer, and logs it.
		ctx, cancel := context.WithTimeout(context.Background(), tablesWithin)
		_, _, _ = db.Migrate(ctx)
		cancel()
	}
	r, err := history.Open(history.Options{
		Dir: filepath.Join(c.dataDir, "outbox"), OutboxBytes: c.historyOutboxMB << 20, Database: db,
		Days: c.historyDays, Rows: c.historyRows, Logger: log,
	})
	if err != nil {
		return recorder{}, errors.Join(err, db.Close())
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
	return recorder{
		scheduler: r, reads: db,
		stats:   func() metrics.HistoryStats { return historyStats(r.Status(), time.Now()) },
		warning: func() string { return r.Status().Warning(time.Now()) },
		end: func() error {
			stop()
			return within(recorderEnd, end)
		},
	}, nil
}

// warnOfRows says that an earlier start, with a database, has left rows that nobody writes now.
func warnOfRows(c config, log *slog.Logger) {
	dir := filepath.Join(c.dataDir, "outbox")
	if _, err := os.Stat(dir); err != nil {
		return
	}
	r, err := history.Open(history.Options{Dir: dir, OutboxBytes: c.historyOutboxMB << 20, Logger: log})
	if err != nil {
		log.Warn("history outbox can't be looked at: rows that wait in it are not written, since there is no --db",
			"folder", dir, "error", err)
		return
	}
	if s := r.Status(); s.Waiting > 0 || s.Aside > 0 {
		log.Warn("history rows of an earlier start wait in the outbox, and are not written: give --db again to have them in its database", "folder", dir, "rows", s.Waiting, "aside", s.Aside)
	}
	if err := within(recorderEnd, r.Close); err != nil {
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
