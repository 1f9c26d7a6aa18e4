package executor

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
)

// TestBeginsOnce: of several that would begin a task at once one does.
func TestBeginsOnce(t *testing.T) {
	t.Parallel()
	c := &container{begun: filepath.Join(t.TempDir(), "begun")}
	if err := begunBefore(c.begun); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	begun := make(chan error, 16)
	for range cap(begun) {
		all.Go(func() { begun <- c.begin() })
	}
	all.Wait()
	close(begun)
	first := 0
	for err := range begun {
		if err == nil {
			first++
		} else if !errors.Is(err, errBegun) {
			t.Error(err)
		}
	}
	if first != 1 || !errors.Is(begunBefore(c.begun), errBegun) {
		t.Errorf("%d began, want 1", first)
	}
	if err := (&container{begun: "/nonexistent/begun"}).begin(); err == nil || errors.Is(err, errBegun) {
		t.Error(err)
	}
}
