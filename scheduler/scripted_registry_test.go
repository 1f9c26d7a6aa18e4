package scheduler

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/test/scenario"
)

// scriptedRegistry is a registry of one process that answers as the script says.
type scriptedRegistry struct {
	s       *shell
	ctx     context.Context
	next    string       // how the next commit is answered
	slow    atomic.Int64 // how many nanoseconds each commit takes
	mu      sync.Mutex
	entries map[string]registry.Entry
	number  int64
	term    *scriptedTerm
}

func (r *scriptedRegistry) put(path string, value []byte) {
	e, there := r.entries[path]
	e.Path, e.Value = path, value
	if there {
		e.Version++
	}
	r.entries[path] = e
}

// depose has another process begin a term. This one does not know it yet.
func (r *scriptedRegistry) depose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number++
}

func (r *scriptedRegistry) lose(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.term.end(why)
}

func (r *scriptedRegistry) Campaign(context.Context, string) (registry.Term, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number++
	r.s.say("REGISTRY term %d is written", r.number)
	r.term = &scriptedTerm{r: r, number: r.number, done: make(chan struct{})}
	return r.term, nil
}

func (r *scriptedRegistry) Leader() (registry.Leader, bool) { return registry.Leader{}, false }

func (r *scriptedRegistry) Close() error { return nil }

type scriptedTerm struct {
	r      *scriptedRegistry
	number int64
	done   chan struct{}
	err    error
}

// end ends the term; the registry's lock is held.
func (t *scriptedTerm) end(why string) error {
	if t.err == nil {
		t.err = fmt.Errorf("%s: %w", why, registry.ErrTermEnded)
		close(t.done)
	}
	return t.err
}

func (t *scriptedTerm) Number() int64 { return t.number }

func (t *scriptedTerm) Done() <-chan struct{} { return t.done }

func (t *scriptedTerm) Changed() <-chan string { return nil }

func (t *scriptedTerm) Resign(context.Context) error { return nil }

func (t *scriptedTerm) Err() error {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	return t.err
}

func (t *scriptedTerm) List(_ context.Context, path string) ([]registry.Entry, error) {
	t.r.s.say("REGISTRY %s is read", path)
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	var all []registry.Entry
	for _, p := range slices.Sorted(maps.Keys(t.r.entries)) {
		if strings.HasPrefix(p, path+"/") {
			all = append(all, t.r.entries[p])
		}
	}
	return all, nil
}

func (t *scriptedTerm) Get(_ context.Context, path string) (registry.Entry, error) {
	t.r.s.say("REGISTRY %s is read", path)
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	e, ok := t.r.entries[path]
	if !ok {
		return e, registry.ErrNotFound
	}
	return e, nil
}

func (t *scriptedTerm) Commit(_ context.Context, writes []registry.Write) error {
	r := t.r
	time.Sleep(time.Duration(r.slow.Load()))
	r.mu.Lock()
	defer r.mu.Unlock()
	how := r.next
	r.next = ""
	if t.err != nil {
		return t.err
	}
	what := "nothing but the fence"
	if len(writes) > 0 {
		list := make([]string, len(writes))
		for i, w := range writes {
			list[i] = r.s.inWords(w.Path)
		}
		slices.Sort(list)
		what = scenario.Shorten(list)
	}
	if t.number != r.number {
		r.s.say("REGISTRY commit of term %d refused by the fence: %s", t.number, what)
		return t.end(fmt.Sprintf("term %d has begun", r.number))
	}
	for _, w := range writes {
		if e, there := r.entries[w.Path]; !w.If.Met(there, e.Version) {
			r.s.say("REGISTRY commit refused, %s has changed: %s", w.Path, what)
			return &registry.Conflict{Path: w.Path}
		}
	}
	if how == "unknown" {
		r.s.say("REGISTRY commit without an answer, and the session is gone: %s", what)
		return fmt.Errorf("%w, its last commit %w", t.end("the session is gone"), registry.ErrOutcomeUnknown)
	}
	for _, w := range writes {
		if w.Delete {
			delete(r.entries, w.Path)
		} else {
			r.put(w.Path, w.Value)
		}
	}
	switch how {
	case "":
		r.s.say("REGISTRY commit: %s", what)
	case "lost undone":
		r.s.say("REGISTRY commit without an answer, sent again, done: %s", what)
	case "lost done":
		r.s.say("REGISTRY commit without an answer, sent again, refused by what was done: %s", what)
	}
	return nil
}
