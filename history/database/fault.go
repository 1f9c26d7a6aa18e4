package database

import "errors"

// badRowError is an error that is caused by the content of a row, so that a retry can't succeed.
type badRowError struct{ error }

func (b badRowError) Unwrap() error { return b.error }

// refused reports whether an error is caused by the content of a row. All other errors may resolve with time: a
// database that is down, full, read-only or missing, a wrong password, a deadlock.
func (d *DB) refused(err error) bool {
	var bad badRowError
	return errors.As(err, &bad) || d.dialect.refused(err)
}
