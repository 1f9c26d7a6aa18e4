package cron_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

var update = flag.Bool("update", false, "rewrite testdata/words.tsv from its expressions")

const wordsFile = "testdata/words.tsv"

func TestWords(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile(wordsFile)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	lines := strings.Split(strings.TrimSuffix(string(want), "\n"), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "#") {
			fmt.Fprintln(&got, line)
			continue
		}
		expr, _, _ := strings.Cut(line, "\t")
		s := mustParse(t, expr, nil)
		fmt.Fprintf(&got, "%s\t%s\t%s\n", expr, s.Words(cron.English), s.Words(cron.Chinese))
	}
	if *update {
		if err := os.WriteFile(wordsFile, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" && !*update {
		t.Errorf("words have changed (-want +got); review them after a run with -update:\n%s", diff)
	}
}

// fingerprint returns the fires of an expression after several moments as a text.
func fingerprint(t interface{ Fatal(...any) }, expr string, z *time.Location) string {
	s := mustParse(t, expr, z)
	var b strings.Builder
	for _, from := range []string{"2025-12-31T23:59:50Z", "2026-03-07T20:00:00Z", "2026-11-01T04:50:00Z",
		"2027-02-26T00:00:00Z", "2028-02-27T12:00:00Z"} {
		at, err := time.Parse(time.RFC3339, from)
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if at = s.Next(at); at.IsZero() {
				break
			}
			fmt.Fprintln(&b, at.Unix())
		}
	}
	return b.String()
}

// meanings maps words to an expression that they describe and to the expression's fingerprint.
type meanings map[string][2]string

// check adds the words of an expression. It fails if an expression with another fingerprint has the same words.
func (m meanings) check(t interface{ Fatal(...any) }, expr string, z *time.Location) {
	s, fires := mustParse(t, expr, z), fingerprint(t, expr, z)
	for _, words := range []string{s.Words(cron.English), s.Words(cron.Chinese)} {
		if words == "" || strings.Contains(words, "%!") || strings.Contains(words, "  ") {
			t.Fatal(fmt.Sprintf("%q has the words %q", expr, words))
		}
		if other, ok := m[words]; ok && other[1] != fires {
			t.Fatal(fmt.Sprintf("%q and %q fire at different times, and both are %q", expr, other[0], words))
		}
		m[words] = [2]string{expr, fires}
	}
}

func TestSchedulesThatDifferHaveDifferentWords(t *testing.T) {
	t.Parallel()
	in := zone(t, "America/New_York")
	for _, file := range []string{wordsFile, "testdata/fires.tsv"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		seen := meanings{}
		done := map[string]bool{}
		for line := range strings.Lines(string(data)) {
			expr, _, _ := strings.Cut(line, "\t")
			if _, err := cron.Parse(expr, in); err != nil || done[expr] {
				continue
			}
			done[expr] = true
			seen.check(t, expr, in)
		}
		if len(done) < 150 {
			t.Errorf("%s has %d expressions", file, len(done))
		}
	}
}

// drawField returns a random field, in one of the forms that every field may have.
func drawField(t *rapid.T, low, high int) string {
	n := func() int { return rapid.IntRange(low, high).Draw(t, "n") }
	from, to := n(), n()
	switch rapid.IntRange(0, 6).Draw(t, "form") {
	case 0:
		return "*"
	case 1:
		return fmt.Sprintf("%d/%d", from, rapid.IntRange(0, high).Draw(t, "step"))
	case 2:
		return fmt.Sprintf("%d-%d", from, to)
	case 3:
		return fmt.Sprintf("%d-%d/%d", from, to, rapid.IntRange(0, 9).Draw(t, "step"))
	case 4:
		return fmt.Sprintf("%d,%d,%d-%d", n(), n(), from, to)
	case 5:
		return fmt.Sprint(low)
	}
	return fmt.Sprint(from)
}

func TestWordsOfRandomExpressions(t *testing.T) {
	t.Parallel()
	in := zone(t, "America/New_York")
	rapid.Check(t, func(t *rapid.T) {
		seen := meanings{}
		var fields [7]string
		draw := func(i int) {
			switch limits := [...][2]int{{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {1, 7}}; i {
			case 3:
				fields[3], fields[5] = rapid.SampledFrom([]string{"L", "LW", "L-2", "L-2W", "15W", "31W",
					drawField(t, 1, 31)}).Draw(t, "day"), "?"
			case 5:
				fields[3], fields[5] = "?",
					rapid.SampledFrom([]string{"L", "6L", "6#3", "2#5", drawField(t, 1, 7)}).Draw(t, "day of week")
			case 6:
				fields[6] = rapid.SampledFrom([]string{"*", "?", "2026", "2026-2028", "2026/2", "2027/1", "2024,2028",
					"1969"}).Draw(t, "year")
			default:
				fields[i] = drawField(t, limits[i][0], limits[i][1])
			}
		}
		for i := range fields {
			draw(i)
		}
		// Change one field at a time: if the words leave out this field, they stay the same, and check fails.
		for range 6 {
			seen.check(t, strings.Join(fields[:], " "), in)
			draw(rapid.IntRange(0, 6).Draw(t, "changed"))
		}
	})
}

func FuzzWords(f *testing.F) {
	for _, expr := range []string{"0/5 * * * * * ?", "0 0 0 L-30W FEB ?", "*/7 22-3/0 5-2 29 2 ? */4",
		"1,2,3 0 0 ? 11-2 5-2 2126", "0 0 0 ? * 2#5 9999"} {
		f.Add(expr)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		s, err := cron.Parse(expr, nil)
		if err != nil {
			return
		}
		for _, words := range []string{s.Words(cron.English), s.Words(cron.Chinese)} {
			if words == "" || strings.Contains(words, "%!") {
				t.Errorf("%q has the words %q", expr, words)
			}
		}
	})
}

func TestPreview(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, expr, zone, after string
		want                    []string
	}{
		{"no clock change", "0 0 3 * * ?", "Europe/Berlin", "2026-05-01T00:00:00+02:00", []string{
			"2026-05-01T03:00:00+02:00 ", "2026-05-02T03:00:00+02:00 ",
		}},
		{"skipped", "0 30 2 * * ?", "Europe/Berlin", "2026-03-28T00:00:00+01:00", []string{
			"2026-03-28T02:30:00+01:00 ",
			"2026-03-30T02:30:00+02:00 the clock moves forward: there is no 02:30:00 on 2026-03-29, and no fire at it",
		}},
		{"skipped, just before a fire", "0 0,30 2-3 * * ?", "Europe/Berlin", "2026-03-29T00:00:00+01:00", []string{
			"2026-03-29T03:00:00+02:00 the clock moves forward: there is no 02:30:00 on 2026-03-29, and no fire at it",
			"2026-03-29T03:30:00+02:00 ",
		}},
		{"skipped, every hour", "0 30 * * * ?", "Europe/Berlin", "2026-03-29T01:00:00+01:00", []string{
			"2026-03-29T01:30:00+01:00 ", "2026-03-29T03:30:00+02:00 ",
		}},
		{"twice, fires once", "0 30 2 * * ?", "Europe/Berlin", "2026-10-25T00:00:00+02:00", []string{
			"2026-10-25T02:30:00+01:00 the clock moves back: 02:30:00 comes twice on this day, and it fires the second time only",
			"2026-10-26T02:30:00+01:00 ",
		}},
		{"twice, every hour", "0 30 * * * ?", "Europe/Berlin", "2026-10-25T01:00:00+02:00", []string{
			"2026-10-25T01:30:00+02:00 ",
			"2026-10-25T02:30:00+02:00 the clock moves back: 02:30:00 comes twice on this day, this is the first time, and it fires at both",
			"2026-10-25T02:30:00+01:00 the clock moves back: 02:30:00 comes twice on this day, this is the second time, and it fires at both",
			"2026-10-25T03:30:00+01:00 ",
		}},
		{"no fire after the last year", "0 0 0 1 1 ? 2026-2027", "UTC", "2026-05-01T00:00:00Z", []string{"2027-01-01T00:00:00Z "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			after, err := time.Parse(time.RFC3339, tt.after)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range mustParse(t, tt.expr, zone(t, tt.zone)).Preview(after, max(2, len(tt.want))) {
				got = append(got, f.At.Format(time.RFC3339)+" "+f.Note(cron.English))
				if (f.Note(cron.English) == "") != (f.Note(cron.Chinese) == "") {
					t.Errorf("%v has a note in one language only", f)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
