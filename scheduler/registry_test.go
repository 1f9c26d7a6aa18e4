package scheduler_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/test/scenario"
)

// scriptedRegistry is a registry in memory that answers as a test says. The schedulers of the test lead one after the
// other. depose makes another process begin a term in between.
type scriptedRegistry struct {
	diary *diary

	// onCampaign and onCommit, if set, are called first. If they return an error, it is the answer, and nothing is
	// done. They may wait.
	onCampaign func() error
	onCommit   func([]registry.Write) error
	trouble    error
	standby    bool
	changed    chan string
	seat       chan struct{} // holds one token while there is a leader

	mu      sync.Mutex
	next    string // see answerNext
	confirm func() error
	entries map[string]registry.Entry
	number  int64
	terms   int // the number of terms of the test's schedulers
	term    *scriptedTerm
	leader  registry.Leader
}

// confirmWith sets the function that answers Confirm of all terms. If it is nil, a term answers with its own error.
func (r *scriptedRegistry) confirmWith(confirm func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.confirm = confirm
}

func newRegistry(d *diary) *scriptedRegistry {
	return &scriptedRegistry{diary: d, entries: map[string]registry.Entry{}, changed: make(chan string),
		seat: make(chan struct{}, 1)}
}

func (r *scriptedRegistry) put(path string, value []byte) {
	e, there := r.entries[path]
	e.Path, e.Value = path, value
	if there {
		e.Version++
	}
	r.entries[path] = e
}

// edit is an edit with zkCli, which the registry reports if told is set.
func (r *scriptedRegistry) edit(path string, value []byte, told bool) {
	r.mu.Lock()
	r.put(path, value)
	r.mu.Unlock()
	if told {
		r.changed <- path
	}
}

// answerNext sets the answer to the next commit: "unknown", "lost done" or "lost undone".
func (r *scriptedRegistry) answerNext(how string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = how
}

// holds reports whether a committed value holds the text.
func (r *scriptedRegistry) holds(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		if bytes.Contains(e.Value, []byte(text)) {
			return true
		}
	}
	return false
}

// depose makes another process begin a term, which the registry reports to this one if told is set.
func (r *scriptedRegistry) depose(told bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number++
	if told {
		_ = r.term.end(fmt.Sprintf("term %d has begun", r.number))
	}
}

func (r *scriptedRegistry) lose(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.term.end(why)
}

func (r *scriptedRegistry) begun() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.terms
}

func (r *scriptedRegistry) Campaign(ctx context.Context, who string) (registry.Term, error) {
	if r.onCampaign != nil {
		if err := r.onCampaign(); err != nil {
			return nil, err
		}
	}
	select {
	case r.seat <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number++
	r.terms++
	r.diary.say("REGISTRY term %d is written", r.number)
	r.leader = registry.Leader{Term: r.number, Address: who, Since: time.Now()}
	r.term = &scriptedTerm{r: r, number: r.number, done: make(chan struct{}),
		leave: sync.OnceFunc(func() { <-r.seat })}
	return r.term, nil
}

func (r *scriptedRegistry) Leader() (registry.Leader, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leader, r.leader.Address != ""
}

func (r *scriptedRegistry) Trouble() error { return r.trouble }

func (r *scriptedRegistry) Close() error { return nil }

type scriptedTerm struct {
	r      *scriptedRegistry
	number int64
	done   chan struct{}
	err    error
	leave  func()
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

func (t *scriptedTerm) Changed() <-chan string { return t.r.changed }

func (t *scriptedTerm) Standby(context.Context) bool { return t.r.standby }

func (t *scriptedTerm) Resign(context.Context) error {
	t.r.diary.note(fmt.Sprintf("REGISTRY term %d is resigned", t.number))
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	if t.r.term == t {
		t.r.leader = registry.Leader{}
	}
	t.leave()
	return nil
}

func (t *scriptedTerm) Err() error {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	return t.err
}

func (t *scriptedTerm) Confirm(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.r.diary.say("REGISTRY confirms the term")
	t.r.mu.Lock()
	confirm := t.r.confirm
	t.r.mu.Unlock()
	if confirm != nil {
		return confirm()
	}
	return t.Err()
}

func (t *scriptedTerm) List(_ context.Context, path string) ([]registry.Entry, error) {
	t.r.diary.say("REGISTRY %s is read", path)
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
	t.r.diary.say("REGISTRY %s is read", path)
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
	if r.onCommit != nil {
		if err := r.onCommit(writes); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	how := r.next
	r.next = ""
	what := r.inWords(writes)
	if t.number != r.number {
		r.diary.say("REGISTRY commit of term %d refused by the fence: %s", t.number, what)
		return t.end(fmt.Sprintf("term %d has begun", r.number))
	}
	for _, w := range writes {
		if e, there := r.entries[w.Path]; !w.If.Met(there, e.Version) {
			r.diary.say("REGISTRY commit refused, %s has changed: %s", w.Path, what)
			return &registry.Conflict{Path: w.Path}
		}
	}
	if how == "unknown" {
		r.diary.say("REGISTRY commit without an answer, and the session is gone: %s", what)
		return fmt.Errorf("%w, its last commit %w", t.end("the session is gone"), registry.ErrOutcomeUnknown)
	}
	for _, w := range writes {
		if w.Delete {
			delete(r.entries, w.Path)
		} else {
			r.put(w.Path, w.Value)
		}
	}
	r.diary.say(cmp.Or(map[string]string{
		"lost undone": "REGISTRY commit without an answer, sent again, done: %s",
		"lost done":   "REGISTRY commit without an answer, sent again, refused by what was done: %s",
	}[how], "REGISTRY commit: %s"), what)
	return nil
}

func (r *scriptedRegistry) inWords(writes []registry.Write) string {
	if len(writes) == 0 {
		return "nothing but the fence"
	}
	list := make([]string, len(writes))
	for i, w := range writes {
		list[i] = r.diary.inWords(w.Path)
	}
	slices.Sort(list)
	return scenario.Shorten(list)
}
