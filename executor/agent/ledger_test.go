package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRefusedUpdate: an update that the agent keeps refusing is sent less and less often, delays no other update,
// and is reported as news only when the answer changes. A new subscription, and the executor's end, send it at
// once.
func TestRefusedUpdate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLedger()
		defer l.Close()
		for _, id := range []string{"refused", "other"} {
			l.Add(Assignment{ID: id})
		}
		l.Connect(nil)
		begun := time.Now()
		take := func(want string) (Update, time.Duration) {
			t.Helper()
			u, ok := l.Take()
			if !ok || u.Task != want {
				t.Fatalf("taken: %q, %v", u.Task, ok)
			}
			at := time.Since(begun)
			begun = time.Now()
			return u, at
		}
		l.Report(Update{Task: "refused", UUID: [16]byte{1}, State: Running})
		var waits []time.Duration
		var isNew []bool
		for i, answer := range []string{"a", "a", "b", "b", "b", "a", "a", "a", "a"} {
			u, waited := take("refused")
			waits = append(waits, waited)
			isNew = append(isNew, l.SendDone(u, errors.New(answer)))
			if i == 4 {
				// This update of another task is not delayed.
				l.Report(Update{Task: "other", UUID: [16]byte{2}, State: Running})
				u, waited := take("other")
				if waited != 0 || l.SendDone(u, nil) {
					t.Errorf("another task's update: after %v", waited)
				}
			}
		}
		const ms = time.Millisecond
		if diff := cmp.Diff([]time.Duration{0, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms,
			10_000 * ms, 10_000 * ms}, waits); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]bool{true, false, true, false, false, true, false, false, false}, isNew); diff != "" {
			t.Errorf("news (-want +got):\n%s", diff)
		}

		l.Disconnect()
		l.Connect(nil)
		u, waited := take("refused")
		if waited != 0 {
			t.Errorf("after a subscription: %v", waited)
		}
		l.SendDone(u, errors.New("a"))
		if u, waited = take("refused"); waited != firstRetryInterval {
			t.Errorf("after that: %v", waited)
		}
		for range 5 {
			l.SendDone(u, errors.New("a"))
			u, _ = take("refused")
		}
		l.SendDone(u, errors.New("a"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go l.Flush(ctx)
		if u, waited = take("refused"); waited != 0 {
			t.Errorf("at the end: %v", waited)
		}
		l.SendDone(u, nil)
		l.Acknowledge("refused", u.UUID[:])
		l.Acknowledge("other", []byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
		synctest.Wait()
	})
}
