package database

import (
	"database/sql/driver"
	"fmt"
	"time"
)

// Time is a time as the databases store it: text in UTC with milliseconds, whose order is that of time. MySQL's
// DATETIME(3) is written and read as that text too; search.Time reads it. The zero time is NULL.
type Time struct{ time.Time }

const layout = "2006-01-02 15:04:05.000"

// Value implements driver.Valuer.
func (t Time) Value() (driver.Value, error) {
	if t.IsZero() {
		return nil, nil
	}
	u := t.UTC()
	if u.Year() < 1 || u.Year() > 9999 {
		return nil, badRowError{fmt.Errorf("the year %d is outside of 1 to 9999", u.Year())}
	}
	return u.Format(layout), nil
}
