-- +goose Up
-- Tables of ElasticJob 2 and 3.0.0 have no auto_id, and id is their primary key.
SET @todo = (SELECT IF(COUNT(*) > 0, 'DO 0',
    'ALTER TABLE JOB_STATUS_TRACE_LOG DROP PRIMARY KEY, ADD COLUMN auto_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY FIRST')
  FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'JOB_STATUS_TRACE_LOG' AND COLUMN_NAME = 'auto_id');
PREPARE todo FROM @todo;
EXECUTE todo;
DEALLOCATE PREPARE todo;

-- 3.0.1 has none either on the id itself: a row would stand as often as it is written. Of several, the newest stands. Without an index each
-- row would be compared with each.
SET @todo = (SELECT IF(COUNT(*) > 0, 'DO 0', 'ALTER TABLE JOB_STATUS_TRACE_LOG ADD KEY ID_TWICE (id)')
  FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'JOB_STATUS_TRACE_LOG' AND INDEX_NAME IN ('UK_ID', 'ID_TWICE'));
PREPARE todo FROM @todo;
EXECUTE todo;
DEALLOCATE PREPARE todo;

DELETE older FROM JOB_STATUS_TRACE_LOG older JOIN JOB_STATUS_TRACE_LOG newer ON older.id = newer.id AND older.auto_id < newer.auto_id;

SET @todo = (SELECT IF(COUNT(*) > 0, 'DO 0', 'ALTER TABLE JOB_STATUS_TRACE_LOG DROP KEY ID_TWICE, ADD UNIQUE KEY UK_ID (id)')
  FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'JOB_STATUS_TRACE_LOG' AND INDEX_NAME = 'UK_ID');
PREPARE todo FROM @todo;
EXECUTE todo;
DEALLOCATE PREPARE todo;

SET @todo = (SELECT IF(COUNT(*) > 0, 'DO 0',
    'ALTER TABLE JOB_STATUS_TRACE_LOG
      ENGINE = InnoDB, ROW_FORMAT = DYNAMIC,
      CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
      MODIFY auto_id BIGINT NOT NULL AUTO_INCREMENT,
      MODIFY slave_id VARCHAR(100) NOT NULL,
      MODIFY state VARCHAR(32) NOT NULL,
      MODIFY creation_time DATETIME(3) NULL,
      ADD COLUMN execution_id VARCHAR(150) NULL,
      ADD COLUMN attempt INT NULL,
      ADD COLUMN reason VARCHAR(100) NULL,
      ADD KEY JOB_TIME (job_name, creation_time),
      ADD KEY JOB_STATE_TIME (job_name, state, creation_time),
      ADD KEY CREATION_TIME (creation_time),
      ADD KEY TASK_TIME (task_id, creation_time),
      ADD KEY EXECUTION_ID (execution_id, creation_time),
      ADD KEY AGENT_TIME (slave_id, creation_time),
      ADD KEY STATE_TIME (state, creation_time),
      ADD KEY SOURCE_TIME (source, creation_time),
      ADD KEY TYPE_TIME (execution_type, creation_time)')
  FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'JOB_STATUS_TRACE_LOG' AND COLUMN_NAME = 'execution_id');
PREPARE todo FROM @todo;
EXECUTE todo;
DEALLOCATE PREPARE todo;
