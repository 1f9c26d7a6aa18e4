-- +goose Up
-- Who has changed what. before_value and after_value are JSON objects of the fields that have changed.
CREATE TABLE IF NOT EXISTS AUDIT_LOG (
  auto_id BIGINT NOT NULL AUTO_INCREMENT,
  id VARCHAR(40) NOT NULL,
  actor_name VARCHAR(150) NOT NULL,
  actor_kind VARCHAR(20) NOT NULL,
  actor_address VARCHAR(100) NOT NULL,
  action VARCHAR(50) NOT NULL,
  target VARCHAR(20) NOT NULL,
  target_name VARCHAR(255) NOT NULL,
  app_name VARCHAR(100) NOT NULL,
  before_value TEXT NULL,
  after_value TEXT NULL,
  creation_time DATETIME(3) NOT NULL,
  PRIMARY KEY (auto_id),
  UNIQUE KEY UK_ID (id),
  KEY CREATION_TIME (creation_time, id),
  KEY ACTOR_TIME (actor_name, creation_time, id),
  KEY ACTION_TIME (action, creation_time, id),
  KEY TARGET_TIME (target, creation_time, id),
  KEY TARGET_NAME_TIME (target_name, creation_time, id),
  KEY APP_TIME (app_name, creation_time, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
