package container

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
)

// TestBeginsOnce: if several goroutines begin a task at once, exactly one succeeds.
func TestBeginsOnce(t *testing.T) {
	t.Parallel()
	c := &Container{begun: filepath.Join(t.TempDir(), "begun")}
	if err := CheckBegun(c.begun); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	begun := make(chan error, 16)
	for range cap(begun) {
		all.Go(func() { begun <- c.Begin() })
	}
	all.Wait()
	close(begun)
	first := 0
	for err := range begun {
		if err == nil {
			first++
		} else if !errors.Is(err, ErrBegun) {
			t.Error(err)
		}
	}
	if first != 1 || !errors.Is(CheckBegun(c.begun), ErrBegun) {
		t.Errorf("%d began, want 1", first)
	}
	if err := (&Container{begun: "/nonexistent/begun"}).Begin(); err == nil || errors.Is(err, ErrBegun) {
		t.Error(err)
	}
}
