package database

import (
	"context"
	"strings"
	"time"
)

// clause is a part of a query with the values of its placeholders.
type clause struct {
	text   string
	values []any
}

// and joins conditions. It skips empty ones.
func and(conditions ...clause) clause {
	var texts []string
	var all clause
	for _, c := range conditions {
		if c.text != "" {
			texts = append(texts, c.text)
			all.values = append(all.values, c.values...)
		}
	}
	all.text = strings.Join(texts, " AND ")
	return all
}

// where returns the WHERE of a statement with the condition, or "" if it is empty.
func (c clause) where() string {
	if c.text == "" {
		return ""
	}
	return " WHERE " + c.text
}

// equal returns the condition that a column has a value, or an empty condition if the value is "".
func equal(column, value string) clause {
	if value == "" {
		return clause{}
	}
	return clause{column + " = ?", []any{value}}
}

// since returns the condition that a time is not before moment, or an empty condition if moment is zero.
func since(column string, moment time.Time) clause {
	if moment.IsZero() {
		return clause{}
	}
	return clause{column + " >= ?", []any{Time{moment}}}
}

// until returns the condition that a time is not after moment, or an empty condition if moment is zero.
func until(column string, moment time.Time) clause {
	if moment.IsZero() {
		return clause{}
	}
	return clause{column + " <= ?", []any{Time{moment}}}
}

// following returns the condition that, in a list with the newest row first, a row comes after the row with this time
// and id. It returns an empty condition if the time is zero.
func following(column string, moment time.Time, id string) clause {
	if moment.IsZero() {
		return clause{}
	}
	return clause{column + " <= ? AND (" + column + " < ? OR id < ?)", []any{Time{moment}, Time{moment}, id}}
}

// pageOf returns the query for a page of a table. Its inner SELECT picks the rows by an index alone, so that the
// database does not read the skipped rows, which may be long.
func pageOf(table, columns string, match clause, order string, skip, limit int) clause {
	return clause{
		text: "SELECT " + columns + " FROM " + table + " JOIN (SELECT auto_id AS picked FROM " + table +
			match.where() +
			" ORDER BY " + order + " LIMIT ? OFFSET ?) AS page ON auto_id = picked ORDER BY " + order,
		values: append(match.values[:len(match.values):len(match.values)], limit, skip),
	}
}

// selectAll returns the rows of a query, an empty list if there are none. It waits for one of the connections for
// reads.
func selectAll[R any](ctx context.Context, d *DB, c clause) ([]R, error) {
	select {
	case d.readSlots <- struct{}{}:
		defer func() { <-d.readSlots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	rows := []R{}
	err := d.db.SelectContext(ctx, &rows, c.text, c.values...)
	return rows, err
}
