package cursor_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/jobs/cron/cursor"
)

var start = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func hours(n int) time.Time { return start.Add(time.Duration(n) * time.Hour) }

// play moves a cursor through times of the wall clock, in hours from the start. It returns the cursor's time and the
// spans of Made as a text.
func play(c *cursor.Cursor, walls ...int) string {
	for _, wall := range walls {
		c.TakeBack(hours(wall))
		c.Advance(cursor.Position{Time: hours(wall)}, false)
	}
	hour := func(at time.Time) int { return int(at.Sub(start).Hours()) }
	var b strings.Builder
	fmt.Fprint(&b, hour(c.Time))
	for _, s := range c.Made {
		fmt.Fprintf(&b, " [%d %d]", hour(s.From), hour(s.To))
	}
	return b.String()
}

func TestCursor(t *testing.T) {
	t.Parallel()
	const to2099 = 72 * 365 * 24
	for name, test := range map[string]struct {
		walls []int
		want  string
	}{
		"forward":                              {[]int{0, 1, 2}, "2"},
		"a short step back":                    {[]int{0, 1, 20, 5}, "20"},
		"a long step back without a leap":      {hourly(0, 60, 10), "59"},
		"a leap and back":                      {[]int{0, 1, 2, to2099, to2099 + 1, 3}, fmt.Sprintf("3 [%d %d]", to2099, to2099+1)},
		"two leaps, and back after both":       {[]int{0, 1, 49, 50, 99, 100, 2}, "2 [49 50] [99 100]"},
		"two leaps, and back between them":     {[]int{0, 1, 49, 50, 99, 100, 51}, "51 [99 100]"},
		"a leap of a clock behind the cursor":  {[]int{0, 10, 3, 30, 4}, "10 [30 30]"},
		"spans that touch become one":          {[]int{0, 1, 49, 52, 2, 52, 55, 3}, "3 [49 55]"},
		"a span in the past is forgotten":      {append([]int{0, 1, 49, 52, 2}, hourly(3, 54+31*24)...), "797"},
		"the clock was wrong at the beginning": {[]int{to2099, to2099 + 1, 0}, fmt.Sprintf("0 [%d %d]", to2099, to2099+1)},
		"a leap a month ago is forgotten":      {append(hourly(100, 100+31*24), 0), "843"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := play(&cursor.Cursor{}, test.walls...); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// hourly returns the hours from from up to, but without, to, followed by more.
func hourly(from, to int, more ...int) (walls []int) {
	for hour := from; hour < to; hour++ {
		walls = append(walls, hour)
	}
	return append(walls, more...)
}

// TestTakeBackToEarlierPositions checks that TakeBack moves the cursor only to positions that it had before, and that
// no fire is made twice, whatever the clock does. It also checks that the size of the memory is limited, and that
// encoding does not change it.
func TestTakeBackToEarlierPositions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var c cursor.Cursor
		made := map[int]bool{}                                           // the fires that were made, one in each hour
		had := map[time.Time]bool{{}: true, time.Unix(0, 0).UTC(): true} // the positions that the cursor had
		for _, wall := range rapid.SliceOf(rapid.IntRange(0, 24*100)).Draw(t, "walls") {
			before := c.Position
			c.TakeBack(hours(wall))
			leaptOver := len(c.Leaps) > 0 && hours(wall).Before(c.Leaps[len(c.Leaps)-1].From)
			if c.Time.Sub(hours(wall)) > cursor.MinLeap && leaptOver {
				t.Fatalf("the clock is at %d, the cursor was taken back from %s only to %s", wall, before.Time, c.Time)
			}
			if !had[c.Time] {
				t.Fatalf("the clock is at %d, the cursor was taken back to %s, where it never was", wall, c.Time)
			}
			if _, wasMade := c.MadeAt(hours(wall)); !wasMade && !c.Covers(hours(wall), "") {
				if made[wall] {
					t.Fatalf("the fire of %d is made again", wall)
				}
				made[wall] = true
			}
			c.Advance(cursor.Position{Time: hours(wall)}, false)
			had[c.Time] = true
			value, err := json.Marshal(c.Memory)
			var decoded cursor.Memory
			if err == nil {
				err = json.Unmarshal(value, &decoded)
			}
			if err != nil || !cmp.Equal(decoded, c.Memory) && len(value) > len("{}") || len(value) > 5000 {
				t.Fatalf("%d bytes: %s, %v", len(value), value, err)
			}
			c.Memory = decoded
		}
	})
}
