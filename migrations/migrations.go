// Package migrations is the SQL schema of the history and of the registry, as numbered steps for each kind of
// database. Each file is one step that is done or not: MySQL commits every statement that changes a table by itself,
// so a step that is more than one statement bears being done again from its begin. History and registry are numbered
// apart, so that they may share a database or not.
package migrations

import "embed"

// Files has the history's steps in mysql, which MySQL and MariaDB take, and in sqlite; and the registry's, for MySQL
// and MariaDB, in registry.
//
//go:embed mysql/*.sql sqlite/*.sql registry/*.sql
var Files embed.FS
