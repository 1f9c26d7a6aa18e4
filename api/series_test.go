package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/history/search"
)

// answeredSeries is a series as it is answered.
type answeredSeries struct {
	Range, From, To                              string
	StepSeconds                                  int
	Times                                        []int64
	Finished, Failed, Launched, Running, Waiting []*float64
	FireDelayP50Millis, FireDelayP95Millis       []*float64
}

// at returns all numbers of one step, "-" for a gap.
func (s *answeredSeries) at(i int) string {
	var out []string
	for _, of := range [][]*float64{s.Finished, s.Failed, s.Launched, s.Running, s.Waiting, s.FireDelayP50Millis,
		s.FireDelayP95Millis} {
		if len(of) != len(s.Times) {
			return fmt.Sprintf("%d numbers for %d times", len(of), len(s.Times))
		}
		if of[i] == nil {
			out = append(out, "-")
		} else {
			out = append(out, fmt.Sprint(*of[i]))
		}
	}
	return strings.Join(out, " ")
}

func TestSeries(t *testing.T) {
	t.Parallel()
	now := noon.Add(11*time.Minute + 30*time.Second)
	minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	h := &fakeHistory{activity: []search.Activity{
		{Time: minute(-1), Sampled: true, Running: 9},
		{Time: minute(0), Sampled: true, Running: 1, Loaded: true, Launched: 10, Waiting: 2, Fires: 3, DelayP50: 10, DelayP95: 50},
		{Time: minute(1), Sampled: true, Running: 2, Loaded: true, Launched: 20, Waiting: 0, Fires: 1, DelayP50: 30, DelayP95: 40, Results: true, Finished: 5, Failed: 1},
		{Time: minute(2), Sampled: true, Running: 3, Loaded: true},
		{Time: minute(10), Results: true, Finished: 4},
		{Time: minute(11), Results: true, Finished: 99}, // this minute has not ended
	}}
	server := start(t, api.Options{Scheduler: newFakeScheduler(), History: h, Now: func() time.Time { return now }})
	get := func(query string) (s answeredSeries, warning string) {
		t.Helper()
		answer, text := call(t, server, "GET", "/api/overview/series"+query, "")
		if err := json.Unmarshal([]byte(text), &s); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", query, answer.StatusCode, text)
		}
		return s, answer.Header.Get("Warning")
	}
	for _, c := range []struct {
		query, name, from, to string
		step, points          int
		want                  map[time.Time]string
	}{
		{"", "hour", "2026-05-01T11:11:00Z", "2026-05-01T12:11:00Z", 60, 60, map[time.Time]string{
			minute(-1): "0 0 - 9 - - -", minute(0): "0 0 10 1 2 10 50", minute(1): "5 1 20 2 0 30 40",
			minute(2): "0 0 0 3 0 - -", minute(10): "4 0 - - - - -"}},
		{"?range=day", "day", "2026-04-30T12:10:00Z", "2026-05-01T12:10:00Z", 300, 288, map[time.Time]string{
			minute(-5): "0 0 - 9 - - -", minute(0): "5 1 30 2 0.7 15 50"}},
		{"?range=week", "week", "2026-04-24T12:00:00Z", "2026-05-01T12:00:00Z", 1800, 336, map[time.Time]string{minute(-30): "0 0 - 9 - - -"}},
	} {
		h.asked = nil
		s, warning := get(c.query)
		if s.Range != c.name || s.From != c.from || s.To != c.to || s.StepSeconds != c.step ||
			len(s.Times) != c.points || len(s.Times) > 400 || warning != "" {
			t.Errorf("%s: %s from %s to %s by %d, %d points, %s", c.query, s.Range, s.From, s.To, s.StepSeconds,
				len(s.Times), warning)
		}
		from, to := time.Unix(s.Times[0], 0).UTC(), time.Unix(s.Times[len(s.Times)-1]+int64(s.StepSeconds), 0).UTC()
		if from.Format(time.RFC3339) != c.from || to.Format(time.RFC3339) != c.to ||
			!reflect.DeepEqual(h.asked, []any{[]any{from, to}}) {
			t.Errorf("%s: times from %v to %v, asked for %v", c.query, from, to, h.asked)
		}
		for i, at := range s.Times {
			want, known := c.want[time.Unix(at, 0).UTC()]
			if !known {
				want = "- - - - - - -"
			}
			if got := s.at(i); got != want {
				t.Errorf("%s at %v: %s, not %s", c.query, time.Unix(at, 0).UTC(), got, want)
			}
		}
	}
	if answer, text := call(t, server, "GET", "/api/overview/series?range=year",
		""); answer.StatusCode != http.StatusBadRequest || !strings.Contains(text, "hour, day") {
		t.Errorf("%d %s", answer.StatusCode, text)
	}

	now = noon
	h.fails = errDown
	s, warning := get("")
	if got := s.at(59); got != "7 0 0 3 0 - -" || !strings.Contains(warning, "this leader's term") {
		t.Errorf("while the database is down: %s, %s", got, warning)
	}
	server = start(t, api.Options{Scheduler: newFakeScheduler()})
	if s, warning = get("?range=hour"); s.at(59) != "7 0 0 3 0 - -" ||
		slices.ContainsFunc(s.Finished[:59], func(n *float64) bool { return n != nil }) || warning != "" {
		t.Errorf("without a history: %s, %s", s.at(59), warning)
	}
}
