-- +goose Up
-- Of several rows of one period, which the original could leave, the newest stands.
DELETE a FROM TASK_RUNNING_STATISTICS a JOIN TASK_RUNNING_STATISTICS b ON a.statistics_time = b.statistics_time AND a.id < b.id;
ALTER TABLE TASK_RUNNING_STATISTICS
  MODIFY statistics_time DATETIME(3) NULL,
  MODIFY creation_time DATETIME(3) NULL,
  ADD UNIQUE KEY PERIOD (statistics_time);
