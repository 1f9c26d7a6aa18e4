package child

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// Shared is a server of a package's tests: it starts when the first of them wants it, and TestMain ends it, by Main.
// The zero value is ready for use.
type Shared[S any] struct {
	once   sync.Once
	server S
	end    func() error
	err    error
}

// Get gives the server. The first call has it started: start gives what ends it, too, or leaves nothing when it fails.
func (s *Shared[S]) Get(t testing.TB, start func() (S, func() error, error)) S {
	t.Helper()
	s.once.Do(func() { s.server, s.end, s.err = start() })
	if s.err != nil {
		t.Fatalf("start the server that tests share: %v", s.err)
	}
	return s.server
}

// Main is a package's tests with the end of their server.
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

// Main is a package's tests.
type Main func() int

// Run returns their exit status.
func (m Main) Run() int { return m() }
