package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
)

// shown is a session that records which items it is to show.
type shown struct {
	mu    sync.Mutex
	last  map[int]bool
	fails bool
}

func (s *shown) ShowUnplaced(_ context.Context, all []cluster.Unplaced) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return errors.New("quota")
	}
	s.last = map[int]bool{}
	for _, u := range all {
		s.last[u.Item] = true
	}
	return nil
}

// A shard that has been unplaced for ten seconds is shown until it is placed; one that is placed before that is not.
// Checks or calls that fail change nothing.
func TestAutoscalersSeeUnplacedShards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began := time.Now()
		after := func() time.Duration { return time.Since(began) }
		s := &shown{}
		var waits []int
		silent := false
		visit := func() (all []cluster.Unplaced, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if silent {
				return nil, errors.New("silent")
			}
			for _, item := range waits {
				all = append(all, cluster.Unplaced{Execution: "e", Item: item})
			}
			return all, nil
		}
		log := &strings.Builder{}
		waits = []int{1, 2}
		go showUnplaced(ctx, visit, s, slog.New(slog.NewTextHandler(log, nil)))
		change := func(do func()) {
			s.mu.Lock()
			defer s.mu.Unlock()
			do()
		}
		until := func(at time.Duration, want ...int) {
			t.Helper()
			time.Sleep(at - after())
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, item := range want {
				if !s.last[item] {
					t.Errorf("after %s item %d is not shown: %v", at, item, s.last)
				}
			}
			if len(s.last) != len(want) {
				t.Errorf("after %s shown are %v, not %v", at, s.last, want)
			}
		}
		until(14 * time.Second)
		change(func() {
			if s.last != nil {
				t.Error("the shards of an earlier session were replaced before new ones could be known")
			}
		})
		until(16*time.Second, 1, 2)
		change(func() { waits = []int{2, 3} })
		until(21*time.Second, 2)
		change(func() { waits = []int{2} })
		until(26*time.Second, 2)
		change(func() { waits = []int{2, 3} })
		until(36*time.Second, 2) // 3 waits since 30 s again
		until(41*time.Second, 2, 3)
		change(func() { silent = true })
		until(56*time.Second, 2, 3)
		change(func() { silent, s.fails = false, true })
		until(76*time.Second, 2, 3)
		if n := strings.Count(log.String(), "quota"); n != 1 {
			t.Errorf("the same problem is logged %d times", n)
		}
		change(func() { waits, s.fails = nil, false })
		until(81 * time.Second)
	})
}
