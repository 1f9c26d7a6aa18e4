package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/elasticjob-go/elasticjob/history"
)

// recorderEnd is how long a recorder is waited for whose database or disk does not answer.
const recorderEnd = 5 * time.Second

// startRecorder has what the scheduler records kept, if there is a database for it; without one the recorder is nil. It is to be ended after the
// scheduler: what is not in the database by then stays in the outbox, for the next start.
func startRecorder(c config, log *slog.Logger) (r *history.Recorder, end func() error, err error) {
	db, err := openHistory(c, log)
	if db == nil || err != nil {
		return nil, func() error { return nil }, err
	}
	r, err = history.Open(history.Options{
		Dir: filepath.Join(c.dataDir, "outbox"), OutboxBytes: c.historyOutboxMB << 20, Database: db,
		Days: c.historyDays, Rows: c.historyRows, Logger: log,
	})
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx)
	}()
	return r, func() error {
		stop()
		return within(recorderEnd, func(ctx context.Context) error {
			select {
			case <-ended:
				return errors.Join(r.Close(ctx), db.Close())
			case <-ctx.Done():
				log.Warn("history recorder not ended: its disk or its database does not answer; what it has on disk is kept")
				return nil
			}
		})
	}, nil
}
