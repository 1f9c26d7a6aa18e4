package database

import (
	"context"
	"strings"

	"github.com/jmoiron/sqlx"
)

// statement is one statement, or several separated by semicolons. bytes is the approximate size of its arguments.
type statement struct {
	text  string
	args  []any
	bytes int
}

func (s statement) exec(ctx context.Context, conn *sqlx.Conn) error {
	_, err := conn.ExecContext(ctx, s.text, s.args...)
	return err
}

// statements returns the statements that make the writes.
func (p plan) statements() (all []statement) {
	for _, batch := range batches(p.deletes, func(path string) int { return len(path) }) {
		s := statement{text: "DELETE FROM REGISTRY_ENTRY WHERE path IN " + placeholders(len(batch)),
			args: arguments(batch)}
		for _, path := range batch {
			s.bytes += len(path)
		}
		all = append(all, s)
	}
	for _, batch := range batches(p.puts, put.bytes) {
		s := statement{}
		for _, x := range batch {
			s.args = append(s.args, []byte(x.path), x.before, notNil(x.value))
			s.bytes += x.bytes()
		}
		// Both MySQL and MariaDB know VALUES(); only MySQL knows its successor.
		s.text = "INSERT INTO REGISTRY_ENTRY (path, version, value) VALUES (?,?,?)" + strings.Repeat(",(?,?,?)",
			len(batch)-1) +
			" ON DUPLICATE KEY UPDATE version = version + VALUES(version) + 1, value = VALUES(value)"
		all = append(all, s)
	}
	return all
}

// requests joins statements into requests of limited size. The server runs them in order, and none after one that
// failed.
func requests(statements []statement) (all []statement) {
	for _, batch := range batches(statements, func(s statement) int { return s.bytes }) {
		whole := batch[0]
		for _, s := range batch[1:] {
			whole.text += ";" + s.text
			whole.args = append(whole.args[:len(whole.args):len(whole.args)], s.args...)
		}
		all = append(all, whole)
	}
	return all
}

// batchRows and batchBytes keep a request far below minPacket, in which each byte of a value may take two.
const (
	batchRows  = 1000
	batchBytes = 1 << 20
)

// batches splits items into runs of at most batchRows items and batchBytes bytes. A larger item is a run of its own.
func batches[T any](items []T, size func(T) int) (all [][]T) {
	begin, bytes := 0, 0
	for i, item := range items {
		if i > begin && (i-begin == batchRows || bytes+size(item) > batchBytes) {
			all = append(all, items[begin:i])
			begin, bytes = i, 0
		}
		bytes += size(item)
	}
	if begin < len(items) {
		all = append(all, items[begin:])
	}
	return all
}

// placeholders returns a list of n placeholders.
func placeholders(n int) string { return "(?" + strings.Repeat(",?", n-1) + ")" }

// arguments returns paths as bytes, because the database compares them as bytes.
func arguments(paths []string) []any {
	all := make([]any, len(paths))
	for i, path := range paths {
		all[i] = []byte(path)
	}
	return all
}

// notNil replaces nil by an empty value, since nil would be stored as NULL.
func notNil(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}
