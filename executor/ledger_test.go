package executor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRefusedUpdate: an update that the agent keeps refusing is sent less and less often, holds nobody up, and is news
// only when the answer changes; a new subscription, and the executor's end, have it sent at once.
func TestRefusedUpdate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		defer l.close()
		for _, id := range []string{"refused", "other"} {
			l.add(assignment{id: id})
		}
		l.connect(nil)
		begun := time.Now()
		take := func(want string) (update, time.Duration) {
			t.Helper()
			u, ok := l.take()
			if !ok || u.task != want {
				t.Fatalf("taken: %q, %v", u.task, ok)
			}
			at := time.Since(begun)
			begun = time.Now()
			return u, at
		}
		l.report(update{task: "refused", uuid: [16]byte{1}, state: running})
		var waits []time.Duration
		var news []bool
		for i, answer := range []string{"a", "a", "b", "b", "b", "a", "a", "a", "a"} {
			u, waited := take("refused")
			waits = append(waits, waited)
			news = append(news, l.sendDone(u, errors.New(answer)))
			if i == 4 {
				// Of another task, meanwhile.
				l.report(update{task: "other", uuid: [16]byte{2}, state: running})
				u, waited := take("other")
				if waited != 0 || l.sendDone(u, nil) {
					t.Errorf("another task's update: after %v", waited)
				}
			}
		}
		const ms = time.Millisecond
		if diff := cmp.Diff([]time.Duration{0, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms,
			10_000 * ms, 10_000 * ms}, waits); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]bool{true, false, true, false, false, true, false, false, false}, news); diff != "" {
			t.Errorf("news (-want +got):\n%s", diff)
		}

		l.disconnect()
		l.connect(nil)
		u, waited := take("refused")
		if waited != 0 {
			t.Errorf("after a subscription: %v", waited)
		}
		l.sendDone(u, errors.New("a"))
		if u, waited = take("refused"); waited != firstRetry {
			t.Errorf("after that: %v", waited)
		}
		for range 5 {
			l.sendDone(u, errors.New("a"))
			u, _ = take("refused")
		}
		l.sendDone(u, errors.New("a"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go l.flush(ctx)
		if u, waited = take("refused"); waited != 0 {
			t.Errorf("at the end: %v", waited)
		}
		l.sendDone(u, nil)
		l.acknowledge("refused", u.uuid[:])
		l.acknowledge("other", []byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
		synctest.Wait()
	})
}
