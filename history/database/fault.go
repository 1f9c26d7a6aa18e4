package database

import "errors"

// badRow is an error that lies in a row: no time heals it.
type badRow struct{ error }

func (b badRow) Unwrap() error { return b.error }

// refused reports whether an error lies in a row's content. All others may heal with time: a database that is down,
// full, read-only or not there yet, a wrong password, a deadlock.
func (d *DB) refused(err error) bool {
	var bad badRow
	return errors.As(err, &bad) || d.dialect.refused(err)
}
