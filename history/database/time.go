package database

import (
	"database/sql/driver"
	"fmt"
	"time"
)

// Time is a time as the databases store it: text in UTC with milliseconds, whose order is that of time. MySQL's
// DATETIME(3) is written and read as that text too. The zero time is NULL.
type Time struct{ time.Time }

const layout = "2006-01-02 15:04:05.000"

// text returns the stored form of the time, and false if the year is not between 1 and 9999.
func (t Time) text() (string, bool) {
	u := t.UTC()
	return u.Format(layout), u.Year() >= 1 && u.Year() <= 9999
}

// Value implements driver.Valuer.
func (t Time) Value() (driver.Value, error) {
	if t.IsZero() {
		return nil, nil
	}
	text, ok := t.text()
	if !ok {
		return nil, badRow{fmt.Errorf("the year %d is outside of 1 to 9999", t.UTC().Year())}
	}
	return text, nil
}

// Scan implements sql.Scanner. MySQL's zero dates, which tables of the original may contain, become the zero time.
func (t *Time) Scan(value any) error {
	var text string
	switch v := value.(type) {
	case nil:
		t.Time = time.Time{}
		return nil
	case string:
		text = v
	case []byte:
		text = string(v)
	default:
		return fmt.Errorf("a time is stored as %T, want text", value)
	}
	if len(text) >= 10 && text[:10] == "0000-00-00" {
		t.Time = time.Time{}
		return nil
	}
	parsed, err := time.ParseInLocation("2006-01-02 15:04:05.999999", text, time.UTC)
	if err != nil {
		return fmt.Errorf("a time is stored as %q: %w", text, err)
	}
	t.Time = parsed
	return nil
}
