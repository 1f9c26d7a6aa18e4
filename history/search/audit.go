package search

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/elasticjob-go/elasticjob/history/event"
)

// Audits is a query for audit rows, newest first; rows of the same time are ordered by descending id.
type Audits struct {
	// Who, Action, Target (the kind of the changed object), TargetName and App are filters; an empty one matches all.
	Who, Action, Target, TargetName, App string
	// May, if not nil, excludes the rows of apps for which it returns false.
	May func(app string) bool
	// From and Until bound the time, both inclusive; zero is no bound.
	From, Until time.Time
	// Before, if not zero, excludes rows after that time, and rows at that time whose id is not below BeforeID.
	Before   time.Time
	BeforeID string
	// Limit is the greatest number of listed rows.
	Limit int
}

// AuditTargets are the kinds of objects that can be changed.
var AuditTargets = []string{"app", "job", "execution", "task", "cluster", "user", "token"}

// AuditParameters are the parameters that ParseAudits reads.
var AuditParameters = []string{"who", "action", "target", "app", "startTime", "endTime", "cursor", "limit"}

// DefaultAudits is the default of the parameter limit, and MaxAudits is its maximum.
const (
	DefaultAudits = 100
	MaxAudits     = 1000
)

// ParseAudits parses a query and returns all violations of its rules, as Subject.Parse does. The parameter target is a
// kind of object or the name of an object.
func ParseAudits(values url.Values) (Audits, []Violation) {
	p := parser{values: values}
	q := Audits{Who: p.text("who"), Action: p.text("action"), App: p.text("app"), From: p.time("startTime", false),
		Until: p.time("endTime", true)}
	if target := p.text("target"); slices.Contains(AuditTargets, target) {
		q.Target = target
	} else {
		q.TargetName = target
	}
	if !q.From.IsZero() && !q.Until.IsZero() && q.Until.Before(q.From) {
		p.refuse("endTime", "must not be before startTime")
	}
	q.Limit = p.number("limit", DefaultAudits, MaxAudits)
	q.Before = read(&p, "cursor", time.Time{}, func(text string) (time.Time, error) {
		plain, err := base64.RawURLEncoding.DecodeString(text)
		millis, id, found := strings.Cut(string(plain), " ")
		n, parseErr := strconv.ParseInt(millis, 10, 64)
		if err != nil || !found || parseErr != nil || n < 0 || n > latest.UnixMilli() || !utf8.ValidString(id) {
			return time.Time{}, strconv.ErrSyntax
		}
		q.BeforeID = id
		return time.UnixMilli(n).UTC(), nil
	}, "must be the next of an answer to the same search")
	return q, p.bad
}

// Next returns the cursor to the rows after a row.
func (q *Audits) Next(a *event.Audit) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", a.Time.UnixMilli(), a.ID))
}

// Matches reports whether a row matches the query.
func (q *Audits) Matches(a *event.Audit) bool {
	passes := func(filter, value string) bool { return filter == "" || filter == value }
	if !passes(q.Who, a.Name) || !passes(q.Action, a.Action) || !passes(q.Target, a.Target) ||
		!passes(q.TargetName, a.TargetName) || !passes(q.App, a.App) {
		return false
	}
	if q.May != nil && !q.May(a.App) {
		return false
	}
	if !q.From.IsZero() && a.Time.Before(q.From) || !q.Until.IsZero() && a.Time.After(q.Until) {
		return false
	}
	return q.Before.IsZero() || cmp.Or(a.Time.Compare(q.Before), strings.Compare(a.ID, q.BeforeID)) < 0
}

// Page sorts rows in the order of the query, removes duplicate ids, and returns at most Limit rows, the first ones.
func (q *Audits) Page(rows []event.Audit) []event.Audit {
	slices.SortFunc(rows, func(a, b event.Audit) int {
		return cmp.Or(b.Time.Compare(a.Time), strings.Compare(b.ID, a.ID))
	})
	rows = slices.CompactFunc(rows, func(a, b event.Audit) bool { return a.ID == b.ID })
	return rows[:min(len(rows), q.Limit)]
}
