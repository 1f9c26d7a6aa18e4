package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// HistoryStats are the statistics of this process, leading or not, about writing the history. Counters start at 0 with
// the process.
type HistoryStats struct {
	// DatabaseUp is true if the last attempt to write to the database succeeded.
	DatabaseUp bool
	// RowsWaiting is the number of rows in the outbox that are not in the database yet. OldestAge is the age of the
	// oldest such row.
	RowsWaiting int64
	OldestAge   time.Duration
	// BytesWaiting is the size of the outbox on disk, MaxBytes its limit.
	BytesWaiting, MaxBytes int64
	// RowsWritten is the number of rows that the database has accepted.
	RowsWritten int64
	// RowsLost counts the rows that are neither in the outbox nor in the database and cannot be recovered.
	RowsLost LostRows
}

// LostRows counts lost rows by cause.
type LostRows struct {
	OutboxFull   int64 // the outbox had reached its limit
	OutboxFailed int64 // the disk was full or failed, rows were corrupted, or no file descriptor was free
	Refused      int64 // the database refused the content of the row
}

// historyFamilies are the metrics of the history; docs/metrics.md lists all metrics.
var historyFamilies = []family[HistoryStats]{
	gauge("history_database_up", "1 while the history's database accepts rows",
		func(s *HistoryStats) int { return zeroOrOne(s.DatabaseUp) }),
	gauge("history_backlog_rows", "rows in this server's history outbox that the database does not have yet",
		func(s *HistoryStats) int64 { return s.RowsWaiting }),
	gauge("history_backlog_bytes", "the size of this server's history outbox on disk",
		func(s *HistoryStats) int64 { return s.BytesWaiting }),
	gauge("history_backlog_limit_bytes", "maximum size of the history outbox (`--history-outbox-mb`)",
		func(s *HistoryStats) int64 { return s.MaxBytes }),
	number(prometheus.GaugeValue, "history_backlog_oldest_seconds",
		"how long the oldest row in the history outbox has waited; 0 without any",
		func(s *HistoryStats) float64 { return s.OldestAge.Seconds() }),
	counter("history_rows_written", "rows that the history's database has accepted",
		func(s *HistoryStats) int64 { return s.RowsWritten }),
	labelled(prometheus.CounterValue, "history_rows_lost_total",
		"history rows lost. `outbox_full`: the limit was reached. `outbox_failed`: the disk was full or failed, rows were corrupted, or no file descriptor was free. `refused`: the database rejected the row's content; the log identifies the row",
		[]string{"cause"}, func(s *HistoryStats, put func(float64, ...string)) {
			put(float64(s.RowsLost.OutboxFull), "outbox_full")
			put(float64(s.RowsLost.OutboxFailed), "outbox_failed")
			put(float64(s.RowsLost.Refused), "refused")
		}),
}
