package child

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// Shared is a server that the tests of a package share. The first test that needs it starts it, and Main ends it. The
// zero value is ready for use.
type Shared[S any] struct {
	once   sync.Once
	server S
	end    func() error
	err    error
}

// Get returns the server. The first call starts it with start, which returns the server and the function that ends it.
// If start fails, it must not leave anything running.
func (s *Shared[S]) Get(t testing.TB, start func() (S, func() error, error)) S {
	t.Helper()
	s.once.Do(func() { s.server, s.end, s.err = start() })
	if s.err != nil {
		t.Fatalf("start the server that tests share: %v", s.err)
	}
	return s.server
}

// Main returns a function that runs the package's tests, and then ends the server if it was started.
func (s *Shared[S]) Main(m *testing.M) Main {
	return func() int {
		status := m.Run()
		if s.end == nil || s.err != nil {
			return status
		}
		if err := s.end(); err != nil {
			fmt.Fprintln(os.Stderr, "end the server that tests share:", err)
			return max(status, 1)
		}
		return status
	}
}

// Main runs a package's tests.
type Main func() int

// Run runs the tests and returns their exit status.
func (m Main) Run() int { return m() }
