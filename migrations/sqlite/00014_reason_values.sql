-- +goose Up
-- A reason's value beside its sentence, as JSON: {"code":…,"args":{…}}.
ALTER TABLE JOB_EXECUTION ADD COLUMN reason_value TEXT;
ALTER TABLE JOB_EXECUTION_EVENT ADD COLUMN message_value TEXT;
ALTER TABLE JOB_EXECUTION_LOG ADD COLUMN failure_cause_value TEXT;
ALTER TABLE JOB_STATUS_TRACE_LOG ADD COLUMN message_value TEXT;
