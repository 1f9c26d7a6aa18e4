-- +goose Up
-- What ours has more: an INT counts 2^31 rows only, times have milliseconds and no time zone of the session's. One statement, so it
-- is done whole or not at all.
ALTER TABLE JOB_EXECUTION_LOG
  CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  MODIFY auto_id BIGINT NOT NULL AUTO_INCREMENT,
  MODIFY start_time DATETIME(3) NULL,
  MODIFY complete_time DATETIME(3) NULL,
  ADD COLUMN revision TINYINT NOT NULL DEFAULT 0,
  ADD COLUMN execution_id VARCHAR(150) NULL,
  ADD COLUMN attempt INT NULL,
  ADD COLUMN run_number BIGINT NULL,
  ADD COLUMN state VARCHAR(20) NULL,
  ADD COLUMN exit_status INT NULL,
  ADD COLUMN agent_id VARCHAR(100) NULL,
  ADD COLUMN fire_time DATETIME(3) NULL,
  ADD KEY JOB_TIME (job_name, start_time),
  ADD KEY START_TIME (start_time),
  ADD KEY COMPLETE_TIME (complete_time, is_success),
  ADD KEY TASK_ID (task_id, start_time),
  ADD KEY EXECUTION_ID (execution_id),
  ADD KEY IP_TIME (ip, start_time),
  ADD KEY SUCCESS_TIME (is_success, start_time);
