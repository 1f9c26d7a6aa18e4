-- +goose Up
-- Tables of ElasticJob 2 and 3.0.0 have no auto_id, and id is their primary key.
SET @todo = (SELECT IF(COUNT(*) > 0, 'DO 0',
    'ALTER TABLE JOB_EXECUTION_LOG DROP PRIMARY KEY, ADD COLUMN auto_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY FIRST, ADD UNIQUE KEY UK_ID (id)')
  FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'JOB_EXECUTION_LOG' AND COLUMN_NAME = 'auto_id');
PREPARE todo FROM @todo;
EXECUTE todo;
DEALLOCATE PREPARE todo;

-- What ours has more: an INT counts 2^31 rows only, times have milliseconds and no time zone of the session's. The row format is
-- the one that can have wide columns in indexes: tables of MySQL 5 may have another.
SET @todo = (SELECT IF(COUNT(*) > 0, 'DO 0',
    'ALTER TABLE JOB_EXECUTION_LOG
      ENGINE = InnoDB, ROW_FORMAT = DYNAMIC,
      CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
      MODIFY auto_id BIGINT NOT NULL AUTO_INCREMENT,
      MODIFY is_success INT NOT NULL,
      MODIFY start_time DATETIME(3) NULL,
      MODIFY complete_time DATETIME(3) NULL,
      ADD COLUMN revision TINYINT NOT NULL DEFAULT 0,
      ADD COLUMN execution_id VARCHAR(150) NULL,
      ADD COLUMN attempt INT NULL,
      ADD COLUMN run_number BIGINT NULL,
      ADD COLUMN state VARCHAR(32) NULL,
      ADD COLUMN exit_status INT NULL,
      ADD COLUMN agent_id VARCHAR(100) NULL,
      ADD COLUMN fire_time DATETIME(3) NULL,
      ADD KEY JOB_TIME (job_name, start_time),
      ADD KEY START_TIME (start_time),
      ADD KEY COMPLETE_TIME (complete_time, auto_id, is_success),
      ADD KEY TASK_ID (task_id, start_time),
      ADD KEY EXECUTION_ID (execution_id, start_time),
      ADD KEY IP_TIME (ip, start_time),
      ADD KEY SUCCESS_TIME (is_success, start_time, auto_id, complete_time),
      ADD KEY JOB_SUCCESS_TIME (job_name, is_success, start_time, auto_id, complete_time)')
  FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'JOB_EXECUTION_LOG' AND COLUMN_NAME = 'revision');
PREPARE todo FROM @todo;
EXECUTE todo;
DEALLOCATE PREPARE todo;
