package zookeeper

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// One lost server causes no delay: there are pauses only after a full round without an answer, and a session alone
// does not count as an answer.
func TestNextServerIsTriedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := rotation{&Client{opt: Options{Servers: []string{"a", "b", "c"}}, ctx: t.Context()}}
		var got []string
		next := func() {
			began := time.Now()
			server, second := r.Next()
			if second {
				server += " after the library's second"
			} else if took := time.Since(began); took > 0 {
				server += fmt.Sprintf(" after %v", took)
			}
			got = append(got, server)
			r.Connected()
		}
		next() // a answers, and is lost
		r.recordReachable()
		for range 15 {
			next()
		}
		r.recordReachable()
		next()
		want := []string{"a", "b", "c", "a", "b after 100ms", "c", "a", "b after 200ms", "c", "a", "b after 400ms",
			"c", "a",
			"b after the library's second", "c", "a", "b"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("- wanted, + got\n%s", diff)
		}
	})
}
