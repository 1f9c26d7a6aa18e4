-- +goose Up
-- What a leader did in each minute: statistics_time is its begin.
CREATE TABLE IF NOT EXISTS SCHEDULING_STATISTICS (
  id BIGINT NOT NULL AUTO_INCREMENT,
  launched_count INT NOT NULL,
  waiting_count INT NOT NULL,
  fire_count INT NOT NULL,
  fire_delay_p50_ms DOUBLE NOT NULL,
  fire_delay_p95_ms DOUBLE NOT NULL,
  statistics_time DATETIME(3) NOT NULL,
  creation_time DATETIME(3) NOT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY PERIOD (statistics_time)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
