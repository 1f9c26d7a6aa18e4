-- +goose Up
-- Of several rows of one period, which the original could leave, the newest stands. Without an index each row would be compared with each.
SET @todo = (SELECT IF(COUNT(*) > 0, 'DO 0', 'ALTER TABLE TASK_RESULT_STATISTICS_HOUR ADD KEY PERIOD_TWICE (statistics_time)')
  FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'TASK_RESULT_STATISTICS_HOUR' AND INDEX_NAME IN ('PERIOD', 'PERIOD_TWICE'));
PREPARE todo FROM @todo;
EXECUTE todo;
DEALLOCATE PREPARE todo;

DELETE older FROM TASK_RESULT_STATISTICS_HOUR older JOIN TASK_RESULT_STATISTICS_HOUR newer ON older.statistics_time = newer.statistics_time AND older.id < newer.id;

SET @todo = (SELECT IF(COUNT(*) > 0, 'DO 0',
    'ALTER TABLE TASK_RESULT_STATISTICS_HOUR
      ENGINE = InnoDB, ROW_FORMAT = DYNAMIC,
      MODIFY success_count BIGINT,
      MODIFY failed_count BIGINT,
      MODIFY statistics_time DATETIME(3) NULL,
      MODIFY creation_time DATETIME(3) NULL,
      DROP KEY PERIOD_TWICE,
      ADD UNIQUE KEY PERIOD (statistics_time)')
  FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'TASK_RESULT_STATISTICS_HOUR' AND INDEX_NAME = 'PERIOD');
PREPARE todo FROM @todo;
EXECUTE todo;
DEALLOCATE PREPARE todo;
