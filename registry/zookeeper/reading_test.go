package zookeeper

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/elasticjob-go/elasticjob/registry"
)

// TestReadAfterTheLossIsNotTrusted, however it went: the session is lost, and nobody has come to end the term yet. The
// library may have read on a new session, from a server that lags.
func TestReadAfterTheLossIsNotTrusted(t *testing.T) {
	t.Parallel()
	p := &place{Options: Options{Logger: slog.New(slog.DiscardHandler)}}
	c := &client{place: p, lost: make(chan struct{})}
	term := &term{registry: &Registry{place: p}, place: p, client: c, done: make(chan struct{}), stopped: func() {}}
	err := term.reading(t.Context(), func(context.Context) error {
		c.lose(errSilent)
		return nil
	})
	if !errors.Is(err, registry.ErrTermEnded) || !errors.Is(err, errSilent) {
		t.Errorf("a read during which the session was lost: %v", err)
	}
	if err := term.reading(t.Context(), func(context.Context) error { return nil }); !errors.Is(err, registry.ErrTermEnded) {
		t.Errorf("a read after that: %v", err)
	}
}
