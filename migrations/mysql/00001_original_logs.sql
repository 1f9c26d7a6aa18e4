-- +goose Up
-- The original's tables, in its own shape: where it has made them already they are taken over as they are.
CREATE TABLE IF NOT EXISTS JOB_EXECUTION_LOG (
  auto_id INT NOT NULL AUTO_INCREMENT,
  id VARCHAR(40) NOT NULL,
  job_name VARCHAR(100) NOT NULL,
  task_id VARCHAR(255) NOT NULL,
  hostname VARCHAR(255) NOT NULL,
  ip VARCHAR(50) NOT NULL,
  sharding_item INT NOT NULL,
  execution_source VARCHAR(20) NOT NULL,
  failure_cause VARCHAR(4000) NULL,
  is_success INT NOT NULL,
  start_time TIMESTAMP NULL,
  complete_time TIMESTAMP NULL,
  PRIMARY KEY (auto_id),
  UNIQUE KEY UK_ID (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS JOB_STATUS_TRACE_LOG (
  auto_id INT NOT NULL AUTO_INCREMENT,
  id VARCHAR(40) NOT NULL,
  job_name VARCHAR(100) NOT NULL,
  original_task_id VARCHAR(255) NOT NULL,
  task_id VARCHAR(255) NOT NULL,
  slave_id VARCHAR(50) NOT NULL,
  source VARCHAR(50) NOT NULL,
  execution_type VARCHAR(20) NOT NULL,
  sharding_item VARCHAR(100) NOT NULL,
  state VARCHAR(20) NOT NULL,
  message VARCHAR(4000) NULL,
  creation_time TIMESTAMP NULL,
  PRIMARY KEY (auto_id),
  UNIQUE KEY UK_ID (id),
  KEY TASK_ID_STATE_INDEX (task_id(128), state)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
