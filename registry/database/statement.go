package database

import (
	"context"
	"strings"

	"github.com/jmoiron/sqlx"
)

// statement is one statement, or several with a semicolon between them, with arguments of about so many bytes.
type statement struct {
	text  string
	args  []any
	bytes int
}

func (s statement) exec(ctx context.Context, conn *sqlx.Conn) error {
	_, err := conn.ExecContext(ctx, s.text, s.args...)
	return err
}

// statements are those that make the writes.
func (p plan) statements() (all []statement) {
	for _, batch := range batches(p.deletes, func(path string) int { return len(path) }) {
		s := statement{text: "DELETE FROM REGISTRY_ENTRY WHERE path IN " + places(len(batch)), args: arguments(batch)}
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
		// VALUES() is known to MySQL and MariaDB, its successor to one of them.
		s.text = "INSERT INTO REGISTRY_ENTRY (path, version, value) VALUES (?,?,?)" + strings.Repeat(",(?,?,?)",
			len(batch)-1) +
			" ON DUPLICATE KEY UPDATE version = version + VALUES(version) + 1, value = VALUES(value)"
		all = append(all, s)
	}
	return all
}

// requests put statements together that are small enough. The server does them in their order, and none after one that
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

// Batches keep a request far below leastPacket, in which each byte of a value may take two.
const (
	batchRows  = 1000
	batchBytes = 1 << 20
)

// batches cuts items into runs that are each at most so many and so large, but at least one.
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

// places are n places for arguments.
func places(n int) string { return "(?" + strings.Repeat(",?", n-1) + ")" }

// arguments are paths as bytes, as they are compared.
func arguments(paths []string) []any {
	all := make([]any, len(paths))
	for i, path := range paths {
		all[i] = []byte(path)
	}
	return all
}

// notNil is a value as it is stored: nil would be NULL.
func notNil(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}
