-- +goose Up
-- Of several rows of one period, which the original could leave, the newest stands. Millions are no trouble: nothing is joined.
DELETE FROM TASK_RESULT_STATISTICS_MINUTE WHERE id NOT IN (SELECT id FROM (SELECT MAX(id) AS id FROM TASK_RESULT_STATISTICS_MINUTE GROUP BY statistics_time) AS newest);

SET @todo = (SELECT IF(COUNT(*) > 0, 'DO 0',
    'ALTER TABLE TASK_RESULT_STATISTICS_MINUTE
      ENGINE = InnoDB, ROW_FORMAT = DYNAMIC,
      MODIFY success_count BIGINT,
      MODIFY failed_count BIGINT,
      MODIFY statistics_time DATETIME(3) NULL,
      MODIFY creation_time DATETIME(3) NULL,
      ADD UNIQUE KEY PERIOD (statistics_time)')
  FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'TASK_RESULT_STATISTICS_MINUTE' AND INDEX_NAME = 'PERIOD');
PREPARE todo FROM @todo;
EXECUTE todo;
DEALLOCATE PREPARE todo;
