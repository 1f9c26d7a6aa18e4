package history

import (
	"testing"
)

func newProgress() *progress { return &progress{changed: make(chan struct{})} }

func TestProgress(t *testing.T) {
	t.Parallel()
	const append, lose, happened, never, store = "append", "lose", "happened", "never", "store"
	type step struct {
		what         string
		number, want int64 // want is the expected number of stored batches
	}
	for name, steps := range map[string][]step{
		"stored in order": {{append, 1, 0}, {append, 2, 0}, {store, 1, 1}, {store, 2, 2}},
		"a lost batch counts once its commit has happened":       {{append, 1, 0}, {lose, 1, 0}, {happened, 1, 1}},
		"the next batch shows that, too":                         {{append, 1, 0}, {lose, 1, 0}, {append, 2, 1}, {store, 2, 2}},
		"a commit that never happened counts for nothing":        {{append, 1, 0}, {lose, 1, 0}, {never, 1, 0}, {append, 1, 0}, {append, 2, 0}, {store, 1, 1}},
		"a lost batch waits for the batches before it":           {{append, 1, 0}, {append, 2, 0}, {lose, 2, 0}, {happened, 2, 0}, {append, 3, 0}, {store, 1, 2}, {store, 3, 3}},
		"lost batches after a stored one":                        {{append, 1, 0}, {happened, 1, 0}, {append, 2, 0}, {lose, 2, 0}, {append, 3, 0}, {lose, 3, 0}, {append, 4, 0}, {store, 1, 3}},
		"a disk that hung reports the newest loss first":         {{append, 1, 0}, {append, 2, 0}, {append, 3, 0}, {append, 4, 0}, {lose, 3, 0}, {lose, 2, 0}, {lose, 1, 3}, {lose, 1, 3}},
		"a loss that is reported after the next batch is stored": {{append, 1, 0}, {append, 2, 0}, {store, 2, 2}, {lose, 1, 2}},
	} {
		p := newProgress()
		for i, s := range steps {
			switch s.what {
			case append:
				p.recordAppend(7, s.number)
			case lose:
				p.lose(7, s.number)
			case happened, never:
				p.settle(7, s.number, s.what == happened)
			case store:
				p.store(7, s.number)
			}
			if p.stored != s.want {
				t.Errorf("%s: step %d, %s %d: %d are stored, want %d", name, i, s.what, s.number, p.stored, s.want)
			}
		}
	}
}

// TestProgressOfAnOutboxThatStaysFull checks that hundreds of thousands of lost batches need no memory each: an outbox
// that stays full for hours loses hundreds of batches per second.
func TestProgressOfAnOutboxThatStaysFull(t *testing.T) {
	t.Parallel()
	p := newProgress()
	p.recordAppend(1, 1) // fits into the outbox
	for n := range int64(500_000) {
		p.recordAppend(1, n+2)
		p.lose(1, n+2)
		p.settle(1, n+2, true)
	}
	if len(p.lost) != 1 || p.stored != 0 {
		t.Errorf("%d ranges are kept, %d batches are stored", len(p.lost), p.stored)
	}
	if p.store(1, 1); p.stored != 500_001 {
		t.Errorf("%d batches are stored", p.stored)
	}
}
