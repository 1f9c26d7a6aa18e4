-- +goose Up
-- What a leader did in each minute: statistics_time is its begin.
CREATE TABLE SCHEDULING_STATISTICS (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  launched_count INTEGER NOT NULL,
  waiting_count INTEGER NOT NULL,
  fire_count INTEGER NOT NULL,
  fire_delay_p50_ms REAL NOT NULL,
  fire_delay_p95_ms REAL NOT NULL,
  statistics_time TEXT NOT NULL,
  creation_time TEXT NOT NULL
);
CREATE UNIQUE INDEX SCHEDULING_STATISTICS_PERIOD ON SCHEDULING_STATISTICS (statistics_time);
