package queue

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The consumer gets all items that were pushed before the end, in order, and none that were pushed after it.
func TestReaderGetsAllUpToTheEnd(t *testing.T) {
	t.Parallel()
	q := New[int](0)
	go func() {
		for i := range 1000 {
			q.Push(i)
		}
		q.Close(1000)
		q.Close(1001)
		q.Push(1002)
	}()
	var got []int
	for {
		items, err := q.Next(t.Context())
		if err != nil {
			if !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
			break
		}
		got = append(got, items...)
	}
	want := make([]int, 1001)
	for i := range want {
		want[i] = i
	}
	if !slices.Equal(got, want) {
		t.Errorf("read %d items: %v", len(got), got)
	}
}

func TestReaderThatIsTooFarBehind(t *testing.T) {
	t.Parallel()
	q := New[int](2)
	for i, want := range []bool{true, true, false, false} {
		if got := q.Push(i); got != want {
			t.Errorf("push %d: %v", i, got)
		}
	}
	if items, open := q.Take(); len(items) > 0 || open {
		t.Errorf("%v, open %v", items, open)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	q := New[int](0)
	cancel()
	if _, err := q.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
