-- +goose Up
-- Who has changed what. before_value and after_value are JSON objects of the fields that have changed.
CREATE TABLE AUDIT_LOG (
  auto_id INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL,
  actor_name TEXT NOT NULL,
  actor_kind TEXT NOT NULL,
  actor_address TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  target_name TEXT NOT NULL,
  app_name TEXT NOT NULL,
  before_value TEXT,
  after_value TEXT,
  creation_time TEXT NOT NULL
);
CREATE UNIQUE INDEX AUDIT_LOG_UK_ID ON AUDIT_LOG (id);
CREATE INDEX AUDIT_LOG_CREATION_TIME ON AUDIT_LOG (creation_time, id);
CREATE INDEX AUDIT_LOG_ACTOR_TIME ON AUDIT_LOG (actor_name, creation_time, id);
CREATE INDEX AUDIT_LOG_ACTION_TIME ON AUDIT_LOG (action, creation_time, id);
CREATE INDEX AUDIT_LOG_TARGET_TIME ON AUDIT_LOG (target, creation_time, id);
CREATE INDEX AUDIT_LOG_TARGET_NAME_TIME ON AUDIT_LOG (target_name, creation_time, id);
CREATE INDEX AUDIT_LOG_APP_TIME ON AUDIT_LOG (app_name, creation_time, id);
