package auth

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestUnknownUsersDelayNoOthers checks that waiting strangers do not delay users from trusted addresses and changes of
// passwords.
func TestUnknownUsersDelayNoOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHasher()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range maxConcurrent {
			if _, err := h.acquire(ctx, h.untrusted); err != nil {
				t.Fatal(err)
			}
		}
		for range maxWaiting {
			go func() { _, _ = h.acquire(ctx, h.untrusted) }()
		}
		synctest.Wait()
		if _, err := h.acquire(ctx, h.untrusted); !errors.As(err, new(*TooMany)) {
			t.Fatalf("another stranger: %v", err)
		}
		known := make(chan error)
		go func() {
			_, err := h.hash(t.Context(), "a password")
			known <- err
		}()
		synctest.Wait()
		cancel() // the strangers stop waiting
		<-h.running
		if err := <-known; err != nil {
			t.Errorf("a new password: %v", err)
		}
	})
}
