package search_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/history/search"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// TestQuestionsAreRead checks which query is parsed from parameters, and its defaults.
func TestQuestionsAreRead(t *testing.T) {
	t.Parallel()
	plain := search.Query{Of: search.Runs, Sort: "startTime", Descending: true, PerPage: 10, Page: 1}
	with := func(change func(q *search.Query)) search.Query {
		q := plain
		change(&q)
		return q
	}
	for query, want := range map[string]search.Query{
		"":               plain,
		"sort=startTime": with(func(q *search.Query) { q.Descending = false }),
		"order=asc":      with(func(q *search.Query) { q.Descending = false }),
		"sort=completeTime&order=DESC&per_page=500&page=200": with(func(q *search.Query) {
			q.Sort, q.PerPage,
				q.Page = "completeTime", 500, 200
		}),
		"jobName=a&isSuccess=1&ip=": with(func(q *search.Query) {
			q.Equal = []search.Equal{{"jobName", "a"},
				{"ip", ""}, {"isSuccess", true}}
		}),
		"startTime=2026-05-01+12:00:00&endTime=2026-05-01+12:00:00": with(func(q *search.Query) {
			q.From, q.Until = noon, noon.Add(999*time.Millisecond)
		}),
		"startTime=2026-05-01T14:00:00%2B02:00&endTime=2026-05-01T12:00:00.5Z": with(func(q *search.Query) {
			q.From, q.Until = noon, noon.Add(500*time.Millisecond)
		}),
		"after=" + plain.Next(noon, 7): with(func(q *search.Query) {
			q.After = &search.Cursor{Time: noon,
				Row: 7}
		}),
		"after=" + plain.Next(time.Time{}, 7): with(func(q *search.Query) { q.After = &search.Cursor{Row: 7} }),
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		got, bad := search.Runs.Parse(values)
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b *search.Subject) bool { return a == b })); diff != "" ||
			len(bad) > 0 {
			t.Errorf("%s: %v %s", query, bad, diff)
		}
	}
}

// TestQuestionsAreChecked checks that all violations are reported, with their values.
func TestQuestionsAreChecked(t *testing.T) {
	t.Parallel()
	up := search.Query{Of: search.Runs, Sort: "startTime"}
	for query, want := range map[string][]string{
		"isSuccess=yes&jobName=%ff&startTime=2026-13-01+00:00:00&endTime=now&sort=auto_id&order=&per_page=0&page=-1": {"jobName", "isSuccess", "startTime", "endTime", "sort", "order", "per_page", "page"},
		"startTime=1969-12-31+23:59:59&endTime=99999-01-01T00:00:00Z":                                                {"startTime", "endTime"},
		"startTime=2026-05-02T00:00:00Z&endTime=2026-05-01T00:00:00Z":                                                {"endTime"},
		"per_page=501&page=2147483648":                                                                               {"per_page", "page"},
		"per_page=500&page=201":                                                                                      {"page"},
		"page=10001":                                                                                                 {"page"},
		"page=2147483647&per_page=500":                                                                               {"page"},
		"taskId=" + strings.Repeat("x", 1001):                                                                        {"taskId"},
		"startTime=":                                                                                                 {"startTime"},
		"after=x":                                                                                                    {"after"},
		"after=&page=1":                                                                                              {"page", "after"},
		"after=" + up.Next(noon, 1):                                                                                  {"after"}, // of another order
		"sort=jobName&after=" + up.Next(noon, 1):                                                                     {"after"},
		"after=" + up.Next(noon, 1) + "&order=desc":                                                                  {"after"},
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		_, bad := search.Runs.Parse(values)
		var got []string
		for _, v := range bad {
			got = append(got, v.Parameter)
			if v.Value != values.Get(v.Parameter) || v.Rule == "" {
				t.Errorf("%s: %+v", query, v)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// FuzzQuestions checks that a parsed query uses only fields of its subject and stays within the limits, whatever the
// parameters contain.
func FuzzQuestions(f *testing.F) {
	f.Add("jobName=a&sort=jobName&order=DESC&per_page=3&page=4&startTime=2026-05-01+12:00:00&after=x")
	f.Add("after=c3RhcnRUaW1lIHRydWUgLTEgNw&page=")
	f.Fuzz(func(t *testing.T, query string) {
		values, _ := url.ParseQuery(query)
		for _, s := range []*search.Subject{search.Runs, search.Traces} {
			q, bad := s.Parse(values)
			if len(bad) > 0 {
				continue
			}
			if q.PerPage < 1 || q.PerPage > 500 || q.Page < 1 || q.Page*q.PerPage > search.MaxSkipped {
				t.Errorf("page %d of %d", q.Page, q.PerPage)
			}
			if !strings.HasSuffix(q.Sort, "Time") && !slices.Contains(s.Parameters(), q.Sort) ||
				q.After != nil && !q.SortedByTime() {
				t.Errorf("sorted by %q after %v", q.Sort, q.After)
			}
		}
	})
}

// TestLife checks that moments are sorted by time, with the times between them. Moments of the same time keep their
// order, except that the end comes last.
func TestLife(t *testing.T) {
	t.Parallel()
	at := func(millis int, kind string) search.Moment {
		return search.Moment{Time: search.Time{Time: noon.Add(time.Duration(millis) * time.Millisecond)}, Kind: kind}
	}
	life, more := search.Life([]search.Moment{at(0, "FIRED"), at(70, "ENDED"), at(70, "last"), at(7, "a"), at(7, "b"),
		at(2007, "late")}, 5)
	var kinds []string
	var after []int64
	for _, m := range life {
		kinds = append(kinds, m.Kind)
		if m.AfterMillis != nil {
			after = append(after, *m.AfterMillis)
		}
	}
	if !slices.Equal(kinds, []string{"FIRED", "a", "b", "last", "ENDED"}) ||
		!slices.Equal(after, []int64{7, 0, 63, 0}) || !more {
		t.Error(kinds, after, more)
	}
	if life, more := search.Life(nil, 4); len(life) > 0 || more {
		t.Error(life, more)
	}
}

// TestJobStatistics checks that the numbers of a job count its ended executions, and that the durations are those of
// finished ones, by nearest rank.
func TestJobStatistics(t *testing.T) {
	t.Parallel()
	var outcomes []search.Outcome
	for i := range 100 { // 100 ms to 1 ms
		millis := int64(100 - i)
		outcomes = append(outcomes, search.Outcome{Result: search.Success,
			Time: noon.Add(-time.Duration(i) * time.Minute), DurationMillis: &millis})
	}
	long := int64(1e9)
	outcomes = append(outcomes, search.Outcome{Result: search.Failure, Time: noon, DurationMillis: &long},
		search.Outcome{Result: search.Kill, Time: noon},
		search.Outcome{Result: search.NoResult, Time: noon.Add(-time.Hour)})
	for _, c := range []struct {
		outcomes []search.Outcome
		want     string
	}{
		{nil, `{"jobName":"j","of":"RUNS","since":null,"finished":0,"failed":0,"killed":0,"successRate":null,"durationMillis":null,"lastFailure":null}`},
		{outcomes[102:], `{"jobName":"j","of":"RUNS","since":null,"finished":0,"failed":0,"killed":0,"successRate":null,"durationMillis":null,"lastFailure":null}`},
		{outcomes[101:], `{"jobName":"j","of":"RUNS","since":"2026-05-01T12:00:00Z","finished":0,"failed":0,"killed":1,"successRate":null,"durationMillis":null,"lastFailure":null}`},
		{outcomes[100:], `{"jobName":"j","of":"RUNS","since":"2026-05-01T12:00:00Z","finished":0,"failed":1,"killed":1,"successRate":0,"durationMillis":null,"lastFailure":null}`},
		{outcomes[99:100], `{"jobName":"j","of":"RUNS","since":"2026-05-01T10:21:00Z","finished":1,"failed":0,"killed":0,"successRate":1,"durationMillis":{"p50":1,"p95":1},"lastFailure":null}`},
		{outcomes[:100], `{"jobName":"j","of":"RUNS","since":"2026-05-01T10:21:00Z","finished":100,"failed":0,"killed":0,"successRate":1,"durationMillis":{"p50":50,"p95":95},"lastFailure":null}`},
	} {
		got, err := json.Marshal(search.Sum("j", "RUNS", c.outcomes))
		if err != nil || string(got) != c.want {
			t.Errorf("%s %v\nwant %s", got, err, c.want)
		}
	}
}

// TestTimesAreRead checks that times are read as text from databases, and written as RFC 3339.
func TestTimesAreRead(t *testing.T) {
	t.Parallel()
	for _, from := range []any{"2026-05-01 12:00:00.250", []byte("2026-05-01 12:00:00.250")} {
		var got search.Time
		err := got.Scan(from)
		text, failed := json.Marshal(got)
		if err != nil || failed != nil || string(text) != `"2026-05-01T12:00:00.25Z"` {
			t.Errorf("%v: %s %v %v", from, text, err, failed)
		}
	}
	for _, none := range []any{nil, "0000-00-00 00:00:00.000"} {
		got := search.Time{Time: noon}
		if err := got.Scan(none); err != nil || !got.IsZero() {
			t.Error(none, got, err)
		}
	}
	var got search.Time
	for _, bad := range []any{"noon", 7} {
		if err := got.Scan(bad); err == nil {
			t.Errorf("%v is a time", bad)
		}
	}
}
