// Package migrations contains the SQL schema of the history and of the registry, as numbered steps for each kind of
// database. Each file is one step. MySQL commits every DDL statement on its own, so a step with more than one
// statement must be repeatable from its beginning after an interruption. History and registry are numbered separately,
// so that they may share a database or not.
package migrations

import "embed"

// Files contains the steps of the history in the folders mysql, for MySQL and MariaDB, and sqlite. The folder registry
// contains those of the registry, for MySQL and MariaDB.
//
//go:embed mysql/*.sql sqlite/*.sql registry/*.sql
var Files embed.FS
