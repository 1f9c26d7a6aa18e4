-- +goose Up
-- Of several rows of one period, which the original could leave, the newest stands.
DELETE a FROM TASK_RESULT_STATISTICS_DAY a JOIN TASK_RESULT_STATISTICS_DAY b ON a.statistics_time = b.statistics_time AND a.id < b.id;
ALTER TABLE TASK_RESULT_STATISTICS_DAY
  MODIFY success_count BIGINT,
  MODIFY failed_count BIGINT,
  MODIFY statistics_time DATETIME(3) NULL,
  MODIFY creation_time DATETIME(3) NULL,
  ADD UNIQUE KEY PERIOD (statistics_time);
