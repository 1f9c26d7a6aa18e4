// Package search defines the queries on the history and their results. It validates queries but does not run them, so
// that the API can parse them and the database can answer them.
package search

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Subject is a searchable table: its filters and sort orders, with the field names of the original's API.
type Subject struct {
	// Time is the field to which startTime and endTime apply. It is also the default sort field.
	Time string
	// filters are fields that can be compared with a value; each has an index.
	filters []string
	// times and sorts are the fields for sorting. Only orders by a time field support cursors.
	times, sorts []string
}

// Runs describes JOB_EXECUTION_LOG, and Traces describes JOB_STATUS_TRACE_LOG.
var (
	Runs = &Subject{
		Time:    "startTime",
		filters: []string{"jobName", "taskId", "ip", "isSuccess", "executionId"},
		times:   []string{"startTime", "completeTime"},
		sorts:   []string{"jobName", "taskId", "ip", "isSuccess"},
	}
	Traces = &Subject{
		Time:    "creationTime",
		filters: []string{"jobName", "taskId", "slaveId", "source", "executionType", "state", "executionId"},
		times:   []string{"creationTime"},
		sorts:   []string{"jobName", "taskId", "slaveId", "source", "executionType", "state"},
	}
)

const (
	// DefaultPerPage is the default number of rows per page, and MaxPerPage is the maximum.
	DefaultPerPage = 10
	MaxPerPage     = 500
	// MaxSkipped bounds the number of rows up to the end of a page, because the database reads all skipped rows.
	MaxSkipped = 100_000
	// MaxCounted bounds the number of rows that a search counts.
	MaxCounted = 100_000
	// maxTextBytes is the greatest length of a filter's value in bytes. No column with a filter is longer.
	maxTextBytes = 1000
)

// Query is a validated search.
type Query struct {
	Of    *Subject
	Equal []Equal
	// From and Until bound Of.Time, both inclusive; zero is no bound.
	From, Until time.Time
	Sort        string
	Descending  bool
	PerPage     int
	// Page counts from 1.
	Page int
	// After, if not nil, is the last row of the previous page. Page is 1 then.
	After *Cursor
}

// Equal is the condition that a field has a value, which is a string or a bool.
type Equal struct {
	Field string
	Value any
}

// Violation is a broken rule of a parameter.
type Violation struct{ Parameter, Value, Rule string }

// Parameters returns the parameters that Parse reads.
func (s *Subject) Parameters() []string {
	return slices.Concat(s.filters, []string{"startTime", "endTime", "sort", "order", "per_page", "page", "after"})
}

// Sorts returns the fields for sorting.
func (s *Subject) Sorts() []string { return slices.Concat(s.times, s.sorts) }

// SortedByTime reports whether the sort field is a time, so that cursors are possible.
func (q *Query) SortedByTime() bool { return slices.Contains(q.Of.times, q.Sort) }

// Parse parses a query and returns all violations of its rules. If a parameter has several values, it reads the first.
func (s *Subject) Parse(values url.Values) (Query, []Violation) {
	p := parser{values: values}
	q := Query{Of: s, Sort: s.Time, Descending: true}
	for _, field := range s.filters {
		if !values.Has(field) {
			continue
		}
		if field == "isSuccess" {
			q.Equal = append(q.Equal, Equal{field, read(&p, field, false, strconv.ParseBool, "must be true or false")})
		} else {
			q.Equal = append(q.Equal, Equal{field, p.text(field)})
		}
	}
	q.From, q.Until = p.time("startTime", false), p.time("endTime", true)
	if !q.From.IsZero() && !q.Until.IsZero() && q.Until.Before(q.From) {
		p.refuse("endTime", "must not be before startTime")
	}
	p.order(&q)
	q.PerPage = p.number("per_page", DefaultPerPage, MaxPerPage)
	q.Page = p.number("page", 1, 1<<31-1)
	if rows := (q.Page - 1) * q.PerPage; rows > MaxSkipped-q.PerPage && len(p.bad) == 0 {
		hint := "set startTime and endTime"
		if q.SortedByTime() {
			hint = "continue after a page with its next, in the parameter after"
		}
		p.refuse("page", "page × per_page must be at most %d; for more, %s", MaxSkipped, hint)
	}
	p.after(&q)
	return q, p.bad
}

// parser parses parameters and collects the violations of their rules.
type parser struct {
	values url.Values
	bad    []Violation
}

func (p *parser) refuse(name, format string, args ...any) {
	p.bad = append(p.bad, Violation{name, p.values.Get(name), fmt.Sprintf(format, args...)})
}

// read parses a parameter, and returns fallback if it is absent or invalid.
func read[T any](p *parser, name string, fallback T, parse func(string) (T, error), rule string, args ...any) T {
	if !p.values.Has(name) {
		return fallback
	}
	value, err := parse(p.values.Get(name))
	if err != nil {
		p.refuse(name, rule, args...)
		return fallback
	}
	return value
}

func (p *parser) text(name string) string {
	text := p.values.Get(name)
	if len(text) > maxTextBytes || !utf8.ValidString(text) {
		p.refuse(name, "must be UTF-8 of at most %d bytes", maxTextBytes)
	}
	return text
}

func (p *parser) number(name string, fallback, limit int) int {
	parse := func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if n < 1 || n > limit {
			err = strconv.ErrRange
		}
		return n, err
	}
	return read(p, name, fallback, parse, "must be a whole number from 1 to %d", limit)
}

// originalTime is the format of times in the original's API.
const originalTime = "2006-01-02 15:04:05"

// time parses a time. A time in the original's format stands for a whole second; as an end it means the last
// millisecond of that second.
func (p *parser) time(name string, end bool) time.Time {
	parse := func(text string) (time.Time, error) {
		t, err := time.Parse(originalTime, text)
		if err == nil && end && len(text) == len(originalTime) {
			t = t.Add(time.Second - time.Millisecond)
		}
		if err != nil {
			t, err = time.Parse(time.RFC3339, text)
		}
		if t = t.UTC(); err == nil && (t.Year() < 1970 || t.Year() > 9999) {
			err = strconv.ErrRange
		}
		return t, err
	}
	return read(p, name, time.Time{}, parse,
		"must be a time from 1970 on such as 2026-05-01 12:00:00, in UTC, or 2026-05-01T12:00:00+02:00 (a + in it written as %%2B)")
}

// order parses the parameters sort and order. Without both, the newest rows come first. A sort without an order is
// ascending, as in the original.
func (p *parser) order(q *Query) {
	sorts := slices.Concat(q.Of.times, q.Of.sorts)
	if p.values.Has("sort") {
		q.Sort, q.Descending = p.values.Get("sort"), false
		if !slices.Contains(sorts, q.Sort) {
			p.refuse("sort", "must be one of %s", strings.Join(sorts, ", "))
		}
	}
	if p.values.Has("order") {
		order := strings.ToUpper(p.values.Get("order"))
		if q.Descending = order == "DESC"; !q.Descending && order != "ASC" {
			p.refuse("order", "must be ASC or DESC")
		}
	}
}

// Cursor is the position of a row in an order by time.
type Cursor struct {
	// Time is the time of the row; zero if it has none.
	Time time.Time
	// Row is the number of the row, which distinguishes rows of the same time.
	Row int64
}

// Next returns a cursor to the rows after a row of the page: the value of the parameter "after".
func (q *Query) Next(t time.Time, row int64) string {
	millis := ""
	if !t.IsZero() {
		millis = strconv.FormatInt(t.UnixMilli(), 10)
	}
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s %t %s %d", q.Sort, q.Descending, millis, row))
}

// after parses a cursor, which is valid only for the order in which it was issued.
func (p *parser) after(q *Query) {
	if !p.values.Has("after") {
		return
	}
	if p.values.Has("page") {
		p.refuse("page", "can't be combined with after")
	}
	parse := func(text string) (*Cursor, error) {
		plain, err := base64.RawURLEncoding.DecodeString(text)
		parts := strings.Split(string(plain), " ")
		if err != nil || len(parts) != 4 || parts[0] != q.Sort || parts[1] != strconv.FormatBool(q.Descending) {
			return nil, strconv.ErrSyntax
		}
		c := &Cursor{}
		if parts[2] != "" {
			millis, err := strconv.ParseInt(parts[2], 10, 64)
			if err != nil || millis < 0 || millis > latest.UnixMilli() {
				return nil, strconv.ErrSyntax
			}
			c.Time = time.UnixMilli(millis).UTC()
		}
		c.Row, err = strconv.ParseInt(parts[3], 10, 64)
		return c, err
	}
	q.After = read(p, "after", nil, parse,
		"must be the next of an answer to the same search with the same sort and order")
}

var latest = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
