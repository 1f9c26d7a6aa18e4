// Package search is what can be asked of the history, and what is answered. It checks questions and holds no way to
// answer them, so that the API can take them from people and the database can answer them.
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

// Subject is a table that can be searched: what may be asked of it, in the words of the original's API.
type Subject struct {
	// Time is the field that startTime and endTime are about, and the order of what is asked for in none.
	Time string
	// filters are fields that may be demanded to have a value, each with an index of its own.
	filters []string
	// times and sorts are the fields that rows may be put in order by; after rows in an order of times a cursor leads
	// on.
	times, sorts []string
}

// Runs is JOB_EXECUTION_LOG, Traces is JOB_STATUS_TRACE_LOG.
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
	// SomePerPage and MostPerPage are how many rows a page has: if it is not said, and at most.
	SomePerPage = 10
	MostPerPage = 500
	// MostSkipped bounds how many rows a page may be behind the first: the database reads all that it skips.
	MostSkipped = 100_000
	// MostCounted bounds how many rows are counted.
	MostCounted = 100_000
	// longestText is more than any column that is compared has, in bytes.
	longestText = 1000
)

// Question is one search, checked.
type Question struct {
	Of    *Subject
	Equal []Equal
	// From and Until bound Of.Time, both included; zero is no bound.
	From, Until time.Time
	Sort        string
	Descending  bool
	PerPage     int
	// Page is counted from 1.
	Page int
	// After, if not nil, is the last row that was seen. Then Page is 1.
	After *Cursor
}

// Equal demands that a field has a value, a string or a bool.
type Equal struct {
	Field string
	Value any
}

// Violation is one rule that a parameter breaks.
type Violation struct{ Parameter, Value, Rule string }

// Parameters are all that Parse reads.
func (s *Subject) Parameters() []string {
	return slices.Concat(s.filters, []string{"startTime", "endTime", "sort", "order", "per_page", "page", "after"})
}

// Sorts are the fields that rows may be put in order by.
func (s *Subject) Sorts() []string { return slices.Concat(s.times, s.sorts) }

// SortedByTime reports whether the rows come in the order of a time, so that a cursor can lead on.
func (q *Question) SortedByTime() bool { return slices.Contains(q.Of.times, q.Sort) }

// Parse reads a question, and says of everything in it that can't be read what would be right. It reads the first of
// several values.
func (s *Subject) Parse(values url.Values) (Question, []Violation) {
	p := parser{values: values}
	q := Question{Of: s, Sort: s.Time, Descending: true}
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
	q.PerPage = p.number("per_page", SomePerPage, MostPerPage)
	q.Page = p.number("page", 1, 1<<31-1)
	if rows := (q.Page - 1) * q.PerPage; rows > MostSkipped-q.PerPage && len(p.bad) == 0 {
		hint := "set startTime and endTime"
		if q.SortedByTime() {
			hint = "read on from a page by its next: the parameter after"
		}
		p.refuse("page", "page × per_page must be at most %d; for more, %s", MostSkipped, hint)
	}
	p.after(&q)
	return q, p.bad
}

// parser collects what is wrong.
type parser struct {
	values url.Values
	bad    []Violation
}

func (p *parser) refuse(name, format string, args ...any) {
	p.bad = append(p.bad, Violation{name, p.values.Get(name), fmt.Sprintf(format, args...)})
}

// read is the value of a parameter, or otherwise where it is absent.
func read[T any](p *parser, name string, otherwise T, parse func(string) (T, error), rule string, args ...any) T {
	if !p.values.Has(name) {
		return otherwise
	}
	value, err := parse(p.values.Get(name))
	if err != nil {
		p.refuse(name, rule, args...)
		return otherwise
	}
	return value
}

func (p *parser) text(name string) string {
	text := p.values.Get(name)
	if len(text) > longestText || !utf8.ValidString(text) {
		p.refuse(name, "must be UTF-8 of at most %d bytes", longestText)
	}
	return text
}

func (p *parser) number(name string, otherwise, most int) int {
	parse := func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if n < 1 || n > most {
			err = strconv.ErrRange
		}
		return n, err
	}
	return read(p, name, otherwise, parse, "must be a whole number from 1 to %d", most)
}

// originalTime is how the original's API takes times.
const originalTime = "2006-01-02 15:04:05"

// time reads a moment. One in the original's form stands for a whole second: as an end, for the last millisecond of
// it.
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

// order reads sort and order. Whoever names neither sees the newest first; a field without an order goes up, as in the
// original.
func (p *parser) order(q *Question) {
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

// Cursor is the place of a row in an order of times.
type Cursor struct {
	// Time of the row, zero if it has none.
	Time time.Time
	// Row is the number of the row, which tells those of one time apart.
	Row int64
}

// Next is the parameter after that leads on from a row of the answer.
func (q *Question) Next(t time.Time, row int64) string {
	millis := ""
	if !t.IsZero() {
		millis = strconv.FormatInt(t.UnixMilli(), 10)
	}
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s %t %s %d", q.Sort, q.Descending, millis, row))
}

// after reads a cursor, which is good for the order that it was given in.
func (p *parser) after(q *Question) {
	if !p.values.Has("after") {
		return
	}
	if p.values.Has("page") {
		p.refuse("page", "can't be given together with after")
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
		"must be the next of an answer to the same question with the same sort and order")
}

var latest = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
