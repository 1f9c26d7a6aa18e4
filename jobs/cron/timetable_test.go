package cron_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

var noon = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

// popped is one result of Pop.
type popped struct {
	At    string
	Names []string
}

// popAll pops until nothing is due.
func popAll(tt *cron.Timetable, now time.Time) []popped {
	var all []popped
	for {
		at, names, ok := tt.Pop(now)
		if !ok {
			return all
		}
		all = append(all, popped{at.Format(time.RFC3339), slices.Clone(names)})
	}
}

func TestTimetableFiresInOrderOfTimeAndName(t *testing.T) {
	t.Parallel()
	tt := cron.NewTimetable()
	minute := mustParse(t, "0 * * * * ?", nil)
	tt.Set("b", minute, noon)
	tt.Set("d", mustParse(t, "0 0/2 * * * ?", nil), noon)
	tt.Set("c", mustParse(t, "0 *  * * * ? ", nil), noon)
	tt.Set("a", mustParse(t, "30 1 * * * ?", zone(t, "Asia/Shanghai")), noon)
	if at, ok := tt.NextAt(); !ok || !at.Equal(noon.Add(time.Minute)) {
		t.Errorf("NextAt() = %v, %t, want a minute past noon", at, ok)
	}
	if got := popAll(tt, noon.Add(59*time.Second)); got != nil {
		t.Errorf("before it is due Pop gives %v", got)
	}
	want := []popped{
		{"2026-11-21T12:01:00Z", []string{"b", "c"}},
		{"2026-11-21T12:01:30Z", []string{"a"}},
		{"2026-11-21T12:02:00Z", []string{"b", "c", "d"}},
	}
	if diff := cmp.Diff(want, popAll(tt, noon.Add(2*time.Minute))); diff != "" {
		t.Errorf("Pop (-want +got):\n%s", diff)
	}
}

func TestTimetableGroupKeepsItsInstant(t *testing.T) {
	t.Parallel()
	tt := cron.NewTimetable()
	minute := mustParse(t, "0 * * * * ?", nil)
	tt.Set("a", minute, noon)
	// The group fires at 12:01, before b was set: the caller must ignore b (F2).
	tt.Set("b", minute, noon.Add(5*time.Minute))
	// The same expression in another zone is another group.
	tt.Set("c", mustParse(t, "0 * * * * ?", zone(t, "Asia/Kolkata")), noon.Add(time.Minute))
	want := []popped{
		{"2026-11-21T12:01:00Z", []string{"a", "b"}},
		{"2026-11-21T12:02:00Z", []string{"a", "b", "c"}},
	}
	if diff := cmp.Diff(want, popAll(tt, noon.Add(2*time.Minute))); diff != "" {
		t.Errorf("Pop (-want +got):\n%s", diff)
	}
}

func TestTimetableSetMovesAName(t *testing.T) {
	t.Parallel()
	tt := cron.NewTimetable()
	tt.Set("a", mustParse(t, "0 * * * * ?", nil), noon)
	tt.Set("a", mustParse(t, "0 30 * * * ?", nil), noon)
	tt.Remove("never set")
	if got := tt.Len(); got != 1 {
		t.Errorf("Len() = %d, want 1", got)
	}
	want := []popped{{"2026-11-21T12:30:00Z", []string{"a"}}}
	if diff := cmp.Diff(want, popAll(tt, noon.Add(time.Hour))); diff != "" {
		t.Errorf("Pop (-want +got):\n%s", diff)
	}
	tt.Remove("a")
	if at, ok := tt.NextAt(); ok || tt.Len() != 0 {
		t.Errorf("after the last name is removed NextAt() = %v and Len() = %d", at, tt.Len())
	}
}

func TestTimetableKnowsNamesThatNeverFire(t *testing.T) {
	t.Parallel()
	tt := cron.NewTimetable()
	tt.Set("never", mustParse(t, "0 0 0 30 2 ?", nil), noon)
	tt.Set("once", mustParse(t, "0 0 13 21 11 ? 2026", nil), noon)
	if diff := cmp.Diff([]popped{{"2026-11-21T13:00:00Z", []string{"once"}}},
		popAll(tt, noon.AddDate(1, 0, 0))); diff != "" {
		t.Errorf("Pop (-want +got):\n%s", diff)
	}
	if at, ok := tt.NextAt(); ok || tt.Len() != 2 {
		t.Errorf("NextAt() = %v, %t, Len() = %d, want no next and both names", at, ok, tt.Len())
	}
	tt.Set("never", mustParse(t, "0 0 0 * * ?", nil), noon)
	tt.Remove("once")
	if at, ok := tt.NextAt(); !ok || tt.Len() != 1 {
		t.Errorf("NextAt() = %v, %t, Len() = %d, want the new schedule's next and one name", at, ok, tt.Len())
	}
}

func TestTimetableSkip(t *testing.T) {
	t.Parallel()
	tt := cron.NewTimetable()
	tt.Set("second", mustParse(t, "* * * * * ?", nil), noon)
	tt.Set("hour", mustParse(t, "0 0 * * * ?", nil), noon)
	tt.Set("past", mustParse(t, "0 0 0 * * ? 2026", nil), noon)
	tt.Set("year", mustParse(t, "0 0 0 1 7 ?", nil), noon)
	tt.Skip(time.Date(2027, time.January, 1, 0, 59, 59, 500, time.UTC))
	want := []popped{{"2027-01-01T01:00:00Z", []string{"hour", "second"}}}
	if diff := cmp.Diff(want, popAll(tt, time.Date(2027, time.January, 1, 1, 0, 0, 0, time.UTC))); diff != "" {
		t.Errorf("Pop (-want +got):\n%s", diff)
	}
	if got := tt.Len(); got != 4 {
		t.Errorf("Len() = %d, want 4", got)
	}
}

func TestTimetableDoesNotChangeReturnedNames(t *testing.T) {
	t.Parallel()
	tt := cron.NewTimetable()
	minute := mustParse(t, "0 * * * * ?", nil)
	for _, name := range []string{"a", "b", "c"} {
		tt.Set(name, minute, noon)
	}
	_, names, _ := tt.Pop(noon.Add(time.Minute))
	tt.Remove("b")
	tt.Set("aa", minute, noon)
	_, later, _ := tt.Pop(noon.Add(2 * time.Minute))
	if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
		t.Errorf("names returned before a change (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "aa", "c"}, later); diff != "" {
		t.Errorf("names returned after a change (-want +got):\n%s", diff)
	}
}

// model is the simplest implementation of a timetable. A group is identified by its expression.
type model struct {
	jobs      map[string]string         // the expression, by name
	next      map[string]time.Time      // by expression
	schedules map[string]*cron.Schedule // by expression
}

// removeUnused removes the groups without names.
func (m *model) removeUnused() {
	used := make(map[string]bool)
	for _, key := range m.jobs {
		used[key] = true
	}
	for key := range m.next {
		if !used[key] {
			delete(m.next, key)
		}
	}
}

func (m *model) set(name, key string, after time.Time) {
	if _, ok := m.next[key]; !ok {
		m.next[key] = m.schedules[key].Next(after)
	}
	m.jobs[name] = key
	m.removeUnused()
}

func (m *model) nextAt() (at time.Time, ok bool) {
	for _, next := range m.next {
		if !next.IsZero() && (!ok || next.Before(at)) {
			at, ok = next, true
		}
	}
	return at, ok
}

func (m *model) pop(now time.Time) (at time.Time, names []string, ok bool) {
	at, ok = m.nextAt()
	if !ok || at.After(now) {
		return time.Time{}, nil, false
	}
	for name, key := range m.jobs {
		if m.next[key].Equal(at) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for key, next := range m.next {
		if next.Equal(at) {
			m.next[key] = m.schedules[key].Next(at)
		}
	}
	return at, names, true
}

func TestTimetableMatchesModel(t *testing.T) {
	t.Parallel()
	exprs := []string{
		"0 * * * * ?", "0/30 * * * * ?", "0 0/5 * * * ?", "15,30 0/2 * * * ?", "0 0 13 * * ?", "0 0 0 30 2 ?",
		"0 10 12 21 11 ? 2026", "0 0/3 * * * ?",
	}
	rapid.Check(t, func(t *rapid.T) {
		tt := cron.NewTimetable()
		m := &model{jobs: map[string]string{}, next: map[string]time.Time{}, schedules: map[string]*cron.Schedule{}}
		for _, expr := range exprs {
			m.schedules[expr] = mustParse(t, expr, nil)
		}
		now := noon
		name := rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprint("job", rapid.IntRange(0, 15).Draw(t, "name"))
		})
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				n, expr := name.Draw(t, "job"), rapid.SampledFrom(exprs).Draw(t, "expr")
				tt.Set(n, m.schedules[expr], now)
				m.set(n, expr, now)
			},
			"remove": func(t *rapid.T) {
				n := name.Draw(t, "job")
				tt.Remove(n)
				delete(m.jobs, n)
				m.removeUnused()
			},
			"pop": func(t *rapid.T) {
				at, names, ok := tt.Pop(now)
				wantAt, wantNames, wantOK := m.pop(now)
				if ok != wantOK || !at.Equal(wantAt) || !slices.Equal(names, wantNames) {
					t.Fatalf("Pop(%v) = %v, %v, %t, want %v, %v, %t", now, at, names, ok, wantAt, wantNames, wantOK)
				}
			},
			"skip": func(t *rapid.T) {
				tt.Skip(now)
				for key, next := range m.next {
					if !next.IsZero() && !next.After(now) {
						m.next[key] = m.schedules[key].Next(now)
					}
				}
			},
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 200_000).Draw(t, "milliseconds")) * time.Millisecond)
			},
			"": func(t *rapid.T) {
				at, ok := tt.NextAt()
				wantAt, wantOK := m.nextAt()
				if ok != wantOK || !at.Equal(wantAt) || tt.Len() != len(m.jobs) {
					t.Fatalf("NextAt() = %v, %t, Len() = %d, want %v, %t, %d", at, ok, tt.Len(), wantAt, wantOK,
						len(m.jobs))
				}
			},
		})
	})
}
