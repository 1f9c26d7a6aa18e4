package zookeeper

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
)

// TestReadAfterTheLossIsNotTrusted checks that a read fails once the session has ended, even before the term has
// noticed.
func TestReadAfterTheLossIsNotTrusted(t *testing.T) {
	t.Parallel()
	nowhere := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ns := &namespace{Options: Options{SessionTimeout: time.Second, Logger: slog.New(slog.DiscardHandler),
		Dial: nowhere},
		servers: []string{"127.0.0.1:1"}}
	c, err := ns.connect(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	term := &term{namespace: ns, client: c}
	term.ctx, term.end = context.WithCancelCause(c.Context())
	err = term.reading(t.Context(), func() error {
		c.End()
		return nil
	})
	if !errors.Is(err, registry.ErrTermEnded) {
		t.Errorf("a read during which the session ended: %v", err)
	}
	if err := term.reading(t.Context(), func() error { return nil }); !errors.Is(err, registry.ErrTermEnded) {
		t.Errorf("a read after that: %v", err)
	}
}
