-- +goose Up
CREATE TABLE IF NOT EXISTS JOB_EXECUTION (
  auto_id BIGINT NOT NULL AUTO_INCREMENT,
  id VARCHAR(150) NOT NULL,
  revision TINYINT NOT NULL,
  job_name VARCHAR(100) NOT NULL,
  app_name VARCHAR(100) NOT NULL,
  source VARCHAR(20) NOT NULL,
  state VARCHAR(32) NOT NULL,
  reason VARCHAR(4000) NULL,
  fire_time DATETIME(3) NOT NULL,
  made_time DATETIME(3) NULL,
  launch_time DATETIME(3) NULL,
  begin_time DATETIME(3) NULL,
  end_time DATETIME(3) NULL,
  duration_ms BIGINT NULL,
  shards INT NOT NULL,
  shard_states VARCHAR(1000) NULL,
  PRIMARY KEY (auto_id),
  UNIQUE KEY UK_ID (id),
  KEY JOB_FIRE (job_name, fire_time, id),
  KEY FIRE_TIME (fire_time, id),
  KEY JOB_STATE_FIRE (job_name, state, fire_time, id),
  KEY STATE_FIRE (state, fire_time, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS JOB_EXECUTION_EVENT (
  auto_id BIGINT NOT NULL AUTO_INCREMENT,
  id VARCHAR(40) NOT NULL,
  execution_id VARCHAR(150) NOT NULL,
  job_name VARCHAR(100) NOT NULL,
  kind VARCHAR(32) NOT NULL,
  sharding_item INT NULL,
  task_id VARCHAR(255) NULL,
  message VARCHAR(4000) NULL,
  creation_time DATETIME(3) NOT NULL,
  PRIMARY KEY (auto_id),
  UNIQUE KEY UK_ID (id),
  KEY EXECUTION_ID (execution_id, creation_time),
  KEY CREATION_TIME (creation_time)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Runs of daemons that sampling left out of JOB_EXECUTION_LOG: they are counted here.
CREATE TABLE IF NOT EXISTS JOB_RUN_TALLY (
  auto_id BIGINT NOT NULL AUTO_INCREMENT,
  id VARCHAR(40) NOT NULL,
  job_name VARCHAR(100) NOT NULL,
  task_id VARCHAR(255) NOT NULL,
  success_count BIGINT NOT NULL,
  failed_count BIGINT NOT NULL,
  complete_time DATETIME(3) NOT NULL,
  PRIMARY KEY (auto_id),
  UNIQUE KEY UK_ID (id),
  KEY COMPLETE_TIME (complete_time),
  KEY JOB_TIME (job_name, complete_time)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- How many batches of each leader's term are true.
CREATE TABLE IF NOT EXISTS HISTORY_TERM (
  term BIGINT NOT NULL,
  batches BIGINT NOT NULL,
  PRIMARY KEY (term)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Minutes whose results have changed since they were counted.
CREATE TABLE IF NOT EXISTS HISTORY_RECOUNT (
  minute_time DATETIME(3) NOT NULL,
  PRIMARY KEY (minute_time)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
