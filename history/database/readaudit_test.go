package database

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
)

// TestAuditsAreFound checks that the database finds the same rows as search.Audits.Matches, in pages without gaps or
// duplicates.
func TestAuditsAreFound(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	some := func(prefix string) string { return fmt.Sprint(prefix, rnd.IntN(3)) }
	var all []event.Audit
	for i := range 100 {
		row := event.Audit{ID: fmt.Sprintf("%03d", rnd.IntN(1_000_000)*1000+i),
			Time:  noon.Add(time.Duration(rnd.IntN(20)) * time.Minute),
			Actor: event.Actor{Name: some("o'user"), Kind: "user", From: "10.0.0.7"}, Action: some("a"),
			Target: some("t"), TargetName: some("n"), App: some("p"), Before: "{}"}
		if i%2 == 0 {
			row.After = `{"description":"😀 ` + "`;--" + `"}`
		}
		all = append(all, row)
	}
	eachMigrated(t, func(t *testing.T, d *DB) {
		write(t, d, event.Rows{Audits: all})
		for _, q := range []search.Audits{
			{}, {Who: "o'user1"}, {Action: "a1"}, {Target: "t1"}, {TargetName: "n1"}, {App: "p1"}, {TargetName: "n1", Target: "t0", Action: "a1"}, {Who: "o'user2", App: "p0"},
			{May: func(app string) bool { return app == "p2" }}, {Target: "t1", May: func(app string) bool { return app != "p2" }}, {May: func(string) bool { return false }}, {Who: "nobody"},
			{From: noon.Add(5 * time.Minute)}, {Until: noon.Add(5 * time.Minute)}, {From: noon.Add(5 * time.Minute), Until: noon.Add(5 * time.Minute), Action: "a0"},
		} {
			q.Limit = len(all)
			var want, got []event.Audit
			for i := range all {
				if q.Matches(&all[i]) {
					want = append(want, all[i])
				}
			}
			want = q.Page(want)
			for q.Limit = 7; ; {
				page, err := d.Audits(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, page...); len(page) < q.Limit {
					break
				}
				last := page[len(page)-1]
				q.Before, q.BeforeID = last.Time, last.ID
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%+v: want (-), got (+):\n%s", q, diff)
			}
		}
	})
}
