package database

import "github.com/jmoiron/sqlx"

// DB is a database.
type DB struct{ sql *sqlx.DB }
