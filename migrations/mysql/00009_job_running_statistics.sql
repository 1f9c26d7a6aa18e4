-- +goose Up
-- Of several rows of one period, which the original could leave, the newest stands. Millions are no trouble: nothing is joined.
DELETE FROM JOB_RUNNING_STATISTICS WHERE id NOT IN (SELECT id FROM (SELECT MAX(id) AS id FROM JOB_RUNNING_STATISTICS GROUP BY statistics_time) AS newest);

SET @todo = (SELECT IF(COUNT(*) > 0, 'DO 0',
    'ALTER TABLE JOB_RUNNING_STATISTICS
      ENGINE = InnoDB, ROW_FORMAT = DYNAMIC,
      MODIFY statistics_time DATETIME(3) NULL,
      MODIFY creation_time DATETIME(3) NULL,
      ADD UNIQUE KEY PERIOD (statistics_time)')
  FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'JOB_RUNNING_STATISTICS' AND INDEX_NAME = 'PERIOD');
PREPARE todo FROM @todo;
EXECUTE todo;
DEALLOCATE PREPARE todo;
