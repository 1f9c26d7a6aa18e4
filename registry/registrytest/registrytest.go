// Package registrytest is the test suite for implementations of the registry: atomic and fenced commits, conditions,
// lists, limits. The test of an implementation calls Run with a function that creates stores.
package registrytest

import (
	"errors"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
)

// waitTimeout is how long the suite waits for an expected event.
const waitTimeout = 30 * time.Second

// Store is a location of a registry. It is empty at first.
type Store struct {
	// Open opens the store. The result must also be a registry.Shared. The suite closes the result before it opens the
	// store again.
	Open func(t *testing.T) registry.Registry
	// Depose makes another leader take over from the term of r, without notifying that term, and returns the new
	// leader's term. If Depose is nil, r campaigns again.
	Depose func(t *testing.T, r registry.Registry) registry.Term
	// Cut opens the store for a process that dies during a commit. It is nil for a store whose commit is a single
	// local write. After a call of arm, the nth writing request is lost or, if arrives is true, done but not answered.
	// All later requests are lost. struck is closed then, and another leader can take over at once.
	Cut func(t *testing.T) (r registry.Registry, arm func(n int, arrives bool) (struck <-chan struct{}))
}

// Run runs the suite. newStore creates a store for each test, and removes it with t.Cleanup.
func Run(t *testing.T, newStore func(t *testing.T) Store) {
	type test struct {
		name string
		run  func(t *testing.T, s Store)
	}
	tests := []test{
		{"put, get and delete", putGetDelete},
		{"conditions hold or nothing is written", conditions},
		{"a commit is atomic", atomicity},
		{"writes of one commit happen in order", order},
		{"versions begin at 0 and grow", versions},
		{"list is strictly below, sorted, with values", lists},
		{"values given and got are the caller's", copies},
		{"an empty commit is a fenced write", emptyCommit},
		{"T1 term numbers grow", termNumbers},
		{"T2 a deposed term changes nothing", deposed},
		{"a term is confirmed until another begins", confirmed},
		{"T2 a deposed term learns of it", deposedHears},
		{"a resigned term has ended", resigned},
		{"a closed registry ends its term", closed},
		{"a cancelled context writes nothing", cancelled},
		{"values survive close and open", durability},
		{"limits", limits},
		{"path rules", paths},
		{"readers see whole commits", readers},
		{"random operations agree with a map", model},
		{"T5 a large commit is atomic", largeCommits},
		{"shared values live beside terms", sharedValues},
		{"limits of shared values", sharedLimits},
		{"a shared value is changed from what was read", sharedRaces},
	}
	if newStore(t).Cut != nil {
		tests = append(tests, test{"T5 a commit that is cut anywhere is done or not", cutCommits})
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, newStore(t))
		})
	}
}

// open opens the store until the end of the test.
func (s Store) open(t *testing.T) registry.Registry {
	t.Helper()
	r := s.Open(t)
	t.Cleanup(func() { closeRegistry(t, r) })
	return r
}

func closeRegistry(t *testing.T, r registry.Registry) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// lead opens the store and begins a term.
func (s Store) lead(t *testing.T) (registry.Registry, registry.Term) {
	t.Helper()
	r := s.open(t)
	return r, campaign(t, r)
}

// depose makes another leader take over and returns its term. Without Depose, r campaigns again.
func (s Store) depose(t *testing.T, r registry.Registry) registry.Term {
	t.Helper()
	if s.Depose != nil {
		return s.Depose(t, r)
	}
	return campaign(t, r)
}

func campaign(t *testing.T, r registry.Registry) registry.Term {
	t.Helper()
	term, err := r.Campaign(t.Context(), "127.0.0.1:8899")
	if err != nil {
		t.Fatalf("campaign: %v", err)
	}
	return term
}

func put(path, value string) registry.Write {
	return registry.Write{Path: path, Value: []byte(value)}
}

func putIf(path, value string, c registry.Condition) registry.Write {
	return registry.Write{Path: path, Value: []byte(value), If: c}
}

func del(path string) registry.Write { return registry.Write{Path: path, Delete: true} }

func delIf(path string, c registry.Condition) registry.Write {
	return registry.Write{Path: path, Delete: true, If: c}
}

func entry(path, value string, version int64) registry.Entry {
	return registry.Entry{Path: path, Value: []byte(value), Version: version}
}

func commit(t *testing.T, term registry.Term, writes ...registry.Write) {
	t.Helper()
	if err := term.Commit(t.Context(), writes); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

// conflict expects the commit to fail with a conflict at the path, and the term to continue.
func conflict(t *testing.T, term registry.Term, path string, writes ...registry.Write) {
	t.Helper()
	err := term.Commit(t.Context(), writes)
	var c *registry.Conflict
	if !errors.As(err, &c) || c.Path != path {
		t.Fatalf("commit: got %v, want a conflict at %s", err, path)
	}
	if term.Err() != nil {
		t.Fatalf("a conflict ended the term: %v", term.Err())
	}
}

func wantError(t *testing.T, action string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("%q: got %v, want %v", action, got, want)
	}
}

// wantEnded expects an error that is registry.ErrTermEnded.
func wantEnded(t *testing.T, err error) {
	t.Helper()
	wantError(t, "use of an ended term", err, registry.ErrTermEnded)
}

// awaitEnd waits until the term knows that it has ended.
func awaitEnd(t *testing.T, term registry.Term) {
	t.Helper()
	select {
	case <-term.Done():
	case <-time.After(waitTimeout):
		t.Fatal("the term doesn't know that it has ended")
	}
	wantEnded(t, term.Err())
}

func get(t *testing.T, term registry.Term, path string) registry.Entry {
	t.Helper()
	e, err := term.Get(t.Context(), path)
	if err != nil {
		t.Fatalf("get %s: %v", path, err)
	}
	return e
}

func list(t *testing.T, term registry.Term, path string) []registry.Entry {
	t.Helper()
	found, err := term.List(t.Context(), path)
	if err != nil {
		t.Fatalf("list %s: %v", path, err)
	}
	return found
}
