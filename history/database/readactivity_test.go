package database

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
)

// TestActivityIsRead checks that results, samples and launches of a minute are combined, and that unknown values stay
// unknown.
func TestActivityIsRead(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
		write(t, d, event.Rows{
			Runs: []event.Run{{ID: "a", Revision: event.Ended, Success: true, End: minute(1)},
				{ID: "b", Revision: event.Ended, End: minute(1).Add(59 * time.Second)}, {ID: "c", Revision: event.Ended, End: minute(9)}},
			Samples: []event.Sample{{Of: event.TasksRunning, Value: 5, Time: minute(0)},
				{Of: event.TasksRunning, Value: 6, Time: minute(1)}, {Of: event.TasksRunning, Value: 7, Time: minute(4)},
				{Of: event.TasksRunning, Value: 8, Time: minute(5)}},
			Loads: []event.Load{{Time: minute(-1), Launched: 1},
				{Time: minute(0), Launched: 2, Waiting: 3, Fires: 4, DelayP50: 1.5, DelayP95: 250}, {Time: minute(4), Launched: 9}},
		})
		write(t, d, event.Rows{Loads: []event.Load{{Time: minute(0),
			Launched: 99}}}) // from another leader in the same minute
		recountAll(t, d)
		want := []search.Activity{
			{Time: minute(0), Sampled: true, Running: 6, Loaded: true, Launched: 2, Waiting: 3, Fires: 4, DelayP50: 1.5, DelayP95: 250},
			{Time: minute(1), Results: true, Finished: 1, Failed: 1},
			{Time: minute(3), Sampled: true, Running: 7},
		}
		if got, err := d.Activity(t.Context(), noon, minute(4)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
		}
		if got, err := d.Activity(t.Context(), minute(60), minute(120)); err != nil || len(got) != 0 {
			t.Errorf("nothing is known: %+v, %v", got, err)
		}
	})
}

// BenchmarkActivity reads a week.
func BenchmarkActivity(b *testing.B) {
	for name, open := range map[string]func() *DB{
		"MariaDB": func() *DB { return mysqlOf(b, server.Server(b).Database(b)) },
		"SQLite":  func() *DB { return sqliteOf(b, filepath.Join(b.TempDir(), "history.db")) },
	} {
		b.Run(name, func(b *testing.B) {
			d := open()
			migrate(b, d)
			const week = 7 * 24 * 60
			for from := 0; from < week; from += 1000 {
				var rows event.Rows
				for i := from; i < min(from+1000, week); i++ {
					at := noon.Add(time.Duration(i) * time.Minute)
					rows.Loads = append(rows.Loads,
						event.Load{Time: at, Launched: int64(i), Fires: 1, DelayP50: 1, DelayP95: 2})
					rows.Samples = append(rows.Samples,
						event.Sample{Of: event.TasksRunning, Value: int64(i), Time: at})
				}
				write(b, d, rows)
			}
			for b.Loop() {
				if got, err := d.Activity(b.Context(), noon, noon.Add(week*time.Minute)); err != nil ||
					len(got) != week {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}
