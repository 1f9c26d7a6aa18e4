-- +goose Up
ALTER TABLE JOB_STATUS_TRACE_LOG
  CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  MODIFY auto_id BIGINT NOT NULL AUTO_INCREMENT,
  MODIFY slave_id VARCHAR(100) NOT NULL,
  MODIFY state VARCHAR(32) NOT NULL,
  MODIFY creation_time DATETIME(3) NULL,
  ADD COLUMN execution_id VARCHAR(150) NULL,
  ADD COLUMN attempt INT NULL,
  ADD COLUMN reason VARCHAR(100) NULL,
  ADD KEY JOB_TIME (job_name, creation_time),
  ADD KEY CREATION_TIME (creation_time),
  ADD KEY TASK_TIME (task_id, creation_time),
  ADD KEY EXECUTION_ID (execution_id),
  ADD KEY AGENT_TIME (slave_id, creation_time),
  ADD KEY STATE_TIME (state, creation_time),
  ADD KEY SOURCE_TIME (source, creation_time),
  ADD KEY TYPE_TIME (execution_type, creation_time);
