package registrytest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/elasticjob-go/elasticjob/registry"
)

func emptyCommit(t *testing.T, s Store) {
	r, term := s.lead(t)
	commit(t, term)
	commit(t, term, []registry.Write{}...)
	commit(t, term, put("/a", "x"))
	commit(t, term)
	wantList(t, term, "/", entry("/a", "x", 0))
	s.depose(t, r)
	wantEnded(t, term.Commit(t.Context(), nil))
}

func termNumbers(t *testing.T, s Store) {
	last := int64(0)
	for range 3 {
		r := s.Open(t)
		first := campaign(t, r)
		if first.Number() <= last {
			t.Errorf("term %d began after term %d", first.Number(), last)
		}
		if err := first.Resign(t.Context()); err != nil {
			t.Errorf("resign: %v", err)
		}
		second := campaign(t, r)
		if second.Number() <= first.Number() {
			t.Errorf("term %d began after term %d", second.Number(), first.Number())
		}
		last = second.Number()
		closeRegistry(t, r)
	}
}

func deposed(t *testing.T, s Store) {
	r, old := s.lead(t)
	commit(t, old, put("/a", "old"))
	next := s.depose(t, r)
	if next.Number() <= old.Number() {
		t.Fatalf("term %d took over from term %d", next.Number(), old.Number())
	}
	for _, writes := range [][]registry.Write{
		{put("/a", "x")}, {del("/a")}, {put("/b", "x")}, {putIf("/a", "x", registry.AtVersion(0))},
		// The fence precedes the conditions: a deposed leader must not get a conflict.
		{putIf("/a", "x", registry.AtVersion(9))}, nil,
	} {
		wantEnded(t, old.Commit(t.Context(), writes))
	}
	awaitEnd(t, old)
	wantList(t, next, "/", entry("/a", "old", 0))
	commit(t, next, put("/a", "new"))
	wantEnded(t, old.Commit(t.Context(), []registry.Write{put("/a", "x")}))
	if err := old.Resign(t.Context()); err != nil && !errors.Is(err, registry.ErrTermEnded) {
		t.Fatalf("resign of a deposed term: %v", err)
	}
	commit(t, next, putIf("/a", "newer", registry.AtVersion(1)))
	wantList(t, next, "/", entry("/a", "newer", 2))
	if err := next.Err(); err != nil {
		t.Fatalf("the deposed term's tries ended its successor: %v", err)
	}
}

// confirmed checks that Confirm succeeds until another term begins, and fails from then on, even before the deposed
// term has noticed it.
func confirmed(t *testing.T, s Store) {
	r, old := s.lead(t)
	if err := old.Confirm(t.Context()); err != nil {
		t.Fatalf("the present term: %v", err)
	}
	next := s.depose(t, r)
	wantEnded(t, old.Confirm(t.Context()))
	if err := next.Confirm(t.Context()); err != nil {
		t.Fatalf("the next term: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := next.Confirm(ended); err == nil || errors.Is(err, registry.ErrTermEnded) {
		t.Errorf("without an answer: %v", err)
	}
}

func deposedHears(t *testing.T, s Store) {
	r, old := s.lead(t)
	select {
	case <-old.Done():
		t.Fatalf("the term ended by itself: %v", old.Err())
	default:
	}
	if err := old.Err(); err != nil {
		t.Fatalf("a running term has the error %v", err)
	}
	s.depose(t, r)
	awaitEnd(t, old)
}

func resigned(t *testing.T, s Store) {
	r, term := s.lead(t)
	commit(t, term, put("/a", "x"))
	for range 2 {
		if err := term.Resign(t.Context()); err != nil && !errors.Is(err, registry.ErrTermEnded) {
			t.Fatalf("resign: %v", err)
		}
		awaitEnd(t, term)
	}
	wantEnded(t, term.Commit(t.Context(), []registry.Write{put("/a", "y")}))
	wantGet(t, campaign(t, r), entry("/a", "x", 0))
}

func closed(t *testing.T, s Store) {
	r := s.Open(t)
	term := campaign(t, r)
	commit(t, term, put("/a", "x"))
	closeRegistry(t, r)
	awaitEnd(t, term)
	wantEnded(t, term.Commit(t.Context(), []registry.Write{put("/a", "y")}))
	if _, err := r.Campaign(t.Context(), "x"); err == nil {
		t.Fatal("a closed registry began a term")
	}
	closeRegistry(t, r)
	_, term = s.lead(t)
	wantGet(t, term, entry("/a", "x", 0))
}

func cancelled(t *testing.T, s Store) {
	r, term := s.lead(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantError(t, "commit", term.Commit(ctx, []registry.Write{put("/a", "x")}), context.Canceled)
	_, err := r.Campaign(ctx, "x")
	wantError(t, "campaign", err, context.Canceled)
	if err := term.Err(); err != nil {
		t.Fatalf("the term ended: %v", err)
	}
	wantList(t, term, "/")
	commit(t, term, put("/a", "y"))
}

func durability(t *testing.T, s Store) {
	want := world{}
	for round := range 3 {
		r := s.Open(t)
		term := campaign(t, r)
		wantList(t, term, "/", want.below("/")...)
		writes := make([]registry.Write, 0, 51)
		for i := range 50 {
			writes = append(writes, put(fmt.Sprintf("/d/%d", i*(round+1)), fmt.Sprint(round)))
		}
		for _, write := range append(writes, del("/d/0")) {
			commit(t, term, write)
			want, _ = want.apply([]registry.Write{write})
		}
		closeRegistry(t, r)
	}
}
