// Package migrations is the SQL schema of the history, as numbered steps for each kind of database. Each file is one step that is
// done or not: MySQL commits every statement that changes a table by itself, so a step that is more than one statement bears being
// done again from its begin.
package migrations

import "embed"

// Files has the steps in mysql, which MySQL and MariaDB take, and in sqlite.
//
//go:embed mysql/*.sql sqlite/*.sql
var Files embed.FS
