package database

import (
	"context"
	"strings"

	"github.com/jmoiron/sqlx"
)

// statement is one SQL statement, or several statements separated by semicolons. bytes is the approximate size of the
// arguments.
type statement struct {
	text  string
	args  []any
	bytes int
}

func (s statement) exec(ctx context.Context, conn *sqlx.Conn) error {
	_, err := conn.ExecContext(ctx, s.text, s.args...)
	return err
}

// statements returns the statements of the deletes and puts.
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
			s.args = append(s.args, []byte(x.path), x.earlier, notNil(x.value))
			s.bytes += x.bytes()
		}
		// VALUES() works on both MySQL and MariaDB; only MySQL has its successor.
		s.text = "INSERT INTO REGISTRY_ENTRY (path, version, value) VALUES (?,?,?)" +
			strings.Repeat(",(?,?,?)", len(batch)-1) +
			" ON DUPLICATE KEY UPDATE version = version + VALUES(version) + 1, value = VALUES(value)"
		all = append(all, s)
	}
	return all
}

// requests joins statements into requests of limited size. The database executes the statements of a request in order,
// and none after a statement that failed.
func requests(statements []statement) (all []statement) {
	for _, batch := range batches(statements, func(s statement) int { return s.bytes }) {
		request := batch[0]
		for _, s := range batch[1:] {
			request.text += ";" + s.text
			request.args = append(request.args[:len(request.args):len(request.args)], s.args...)
		}
		all = append(all, request)
	}
	return all
}

// batchRows and batchBytes limit a batch. They keep a request far below minPacket; each byte of a value may take two
// bytes in a request.
const (
	batchRows  = 1000
	batchBytes = 1 << 20
)

// batches splits items into batches of at most batchRows items and batchBytes bytes. A larger item is a separate
// batch.
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

// arguments returns paths as arguments of type []byte, because the database compares paths as bytes.
func arguments(paths []string) []any {
	all := make([]any, len(paths))
	for i, path := range paths {
		all[i] = []byte(path)
	}
	return all
}

// notNil returns the value, or an empty value for nil, which would be stored as NULL.
func notNil(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}
