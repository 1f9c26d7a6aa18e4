package registrytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/elasticjob-go/elasticjob/registry"
)

// shared opens the store for shared values, without leading.
func (s Store) shared(t *testing.T) (registry.Registry, registry.Shared) {
	t.Helper()
	r := s.open(t)
	return r, r.(registry.Shared)
}

func writeShared(t *testing.T, s registry.Shared, name, value string, c registry.Condition, want int64) {
	t.Helper()
	if version, err := s.WriteShared(t.Context(), name, []byte(value), c); err != nil || version != want {
		t.Fatalf("write %s: version %d, %v; want %d", name, version, err, want)
	}
}

func wantShared(t *testing.T, s registry.Shared, name, value string, version int64) {
	t.Helper()
	e, err := s.ReadShared(t.Context(), name)
	if err != nil || e.Path != name || string(e.Value) != value || e.Version != version {
		t.Fatalf("read %s: %.80q, version %d, %v; want %.80q, %d", name, e.Value, e.Version, err, value, version)
	}
}

// sharedValues checks that shared values are independent of terms: they can be used without a term, and no term lists
// them.
func sharedValues(t *testing.T, s Store) {
	r, shared := s.shared(t)
	_, err := shared.ReadShared(t.Context(), "access")
	wantError(t, "read a missing value", err, registry.ErrNotFound)
	writeShared(t, shared, "access", "a", registry.Absent(), 0)
	wantShared(t, shared, "access", "a", 0)
	var c *registry.Conflict
	for _, condition := range []registry.Condition{registry.Absent(), registry.AtVersion(1), registry.AtVersion(7)} {
		if _, err := shared.WriteShared(t.Context(), "access", []byte("b"), condition); !errors.As(err, &c) {
			t.Errorf("%+v: %v, want a conflict", condition, err)
		}
	}
	if _, err := shared.WriteShared(t.Context(), "other", nil, registry.AtVersion(0)); !errors.As(err, &c) {
		t.Errorf("a version of a missing value: %v", err)
	}
	term := campaign(t, r)
	writeShared(t, shared, "access", "b", registry.AtVersion(0), 1)
	commit(t, term, put("/a", "x"))
	wantList(t, term, "/", entry("/a", "x", 0))
	s.depose(t, r)
	writeShared(t, shared, "access", "", registry.AtVersion(1), 2)
	wantShared(t, shared, "access", "", 2)
	writeShared(t, shared, "other", "o", registry.Absent(), 0)
	closeRegistry(t, r)
	_, again := s.shared(t)
	wantShared(t, again, "access", "", 2)
	wantShared(t, again, "other", "o", 0)
}

func sharedLimits(t *testing.T, s Store) {
	_, shared := s.shared(t)
	limit := strings.Repeat("x", registry.MaxValue)
	writeShared(t, shared, "access", limit, registry.Absent(), 0)
	wantShared(t, shared, "access", limit, 0)
	_, err := shared.WriteShared(t.Context(), "access", []byte(limit+"x"), registry.AtVersion(0))
	wantError(t, "a byte more", err, registry.ErrTooLarge)
	for _, name := range []string{"", "-a", "A", "a/b", "..", "a.b", "ä", strings.Repeat("a", 32)} {
		_, err := shared.ReadShared(t.Context(), name)
		wantError(t, "read "+name, err, registry.ErrBadPath)
		_, err = shared.WriteShared(t.Context(), name, nil, registry.Absent())
		wantError(t, "write "+name, err, registry.ErrBadPath)
	}
	if _, err := shared.WriteShared(t.Context(), "access", nil, registry.Condition{}); err == nil {
		t.Error("a write without a condition was made")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := shared.WriteShared(ctx, "access", nil, registry.AtVersion(0)); err == nil {
		t.Error("written for a context that has ended")
	}
	wantShared(t, shared, "access", limit, 0)
}

// sharedRaces checks that exactly one of several writers succeeds if they have read the same version.
func sharedRaces(t *testing.T, s Store) {
	_, shared := s.shared(t)
	writeShared(t, shared, "access", "", registry.Absent(), 0)
	const writers, writesEach = 4, 10
	var racing sync.WaitGroup
	for w := range writers {
		racing.Go(func() {
			for n := 0; n < writesEach; {
				e, err := shared.ReadShared(t.Context(), "access")
				if err != nil {
					t.Error(err)
					return
				}
				_, err = shared.WriteShared(t.Context(), "access", fmt.Appendf(e.Value, "%d", w),
					registry.AtVersion(e.Version))
				var c *registry.Conflict
				if err != nil && !errors.As(err, &c) {
					t.Error(err)
					return
				}
				if err == nil {
					n++
				}
			}
		})
	}
	racing.Wait()
	e, err := shared.ReadShared(t.Context(), "access")
	if err != nil || e.Version != writers*writesEach {
		t.Fatalf("version %d, %v", e.Version, err)
	}
	for w := range writers {
		if n := bytes.Count(e.Value, fmt.Append(nil, w)); n != writesEach {
			t.Errorf("%d writes of %d are there: %s", n, w, e.Value)
		}
	}
}
