-- +goose Up
-- A reason's value beside its sentence, as JSON: {"code":…,"args":{…}}. Added last, a column is only noted, and no row is copied.
SET @todo = (SELECT IF(COUNT(*) > 0, 'DO 0', 'ALTER TABLE JOB_EXECUTION ADD COLUMN reason_value VARCHAR(4000) NULL')
  FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'JOB_EXECUTION' AND COLUMN_NAME = 'reason_value');
PREPARE todo FROM @todo;
EXECUTE todo;
DEALLOCATE PREPARE todo;

SET @todo = (SELECT IF(COUNT(*) > 0, 'DO 0', 'ALTER TABLE JOB_EXECUTION_EVENT ADD COLUMN message_value VARCHAR(4000) NULL')
  FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'JOB_EXECUTION_EVENT' AND COLUMN_NAME = 'message_value');
PREPARE todo FROM @todo;
EXECUTE todo;
DEALLOCATE PREPARE todo;

SET @todo = (SELECT IF(COUNT(*) > 0, 'DO 0', 'ALTER TABLE JOB_EXECUTION_LOG ADD COLUMN failure_cause_value VARCHAR(4000) NULL')
  FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'JOB_EXECUTION_LOG' AND COLUMN_NAME = 'failure_cause_value');
PREPARE todo FROM @todo;
EXECUTE todo;
DEALLOCATE PREPARE todo;

SET @todo = (SELECT IF(COUNT(*) > 0, 'DO 0', 'ALTER TABLE JOB_STATUS_TRACE_LOG ADD COLUMN message_value VARCHAR(4000) NULL')
  FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'JOB_STATUS_TRACE_LOG' AND COLUMN_NAME = 'message_value');
PREPARE todo FROM @todo;
EXECUTE todo;
DEALLOCATE PREPARE todo;
