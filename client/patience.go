package client

import (
	"context"
	"errors"
	"net/http"
	"time"
)

const (
	// patience is how long a request is tried again that a server can't answer now: a new leader is found within it.
	patience = 15 * time.Second
	// firstPause comes before the second try; each further one is twice as long, up to mostPause.
	firstPause = 200 * time.Millisecond
	mostPause  = 3 * time.Second
)

// patiently makes a request again while the server says that it can't answer now, if making it twice is harmless.
func (c *Client) patiently(ctx context.Context, r request, try func() error) error {
	deadline := time.Now().Add(patience)
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		err := try()
		wait := max(pause, retryAfter(err))
		if err == nil || !r.harmless() || !isPassing(err) || time.Now().Add(wait).After(deadline) {
			return err
		}
		if sleep(ctx, wait) != nil {
			return err
		}
	}
}

// harmless reports whether a request may be made twice: it changes nothing, or the server knows it by its key.
func (r request) harmless() bool { return r.method == http.MethodGet || r.key != "" }

// isPassing reports errors that a server which changes its leader, or restarts, gives for a moment. A server that can't be
// connected to is none: people wait for an answer, and its address may be wrong.
func isPassing(err error) bool {
	var refused *Error
	if errors.As(err, &refused) {
		switch refused.Code {
		case "no_leader", "not_leading", "leader_unreachable", "not_ready", "timeout", "unavailable", "agent_unreachable", "outcome_unknown":
			return true
		}
		return false
	}
	var away *UnreachableError
	return errors.As(err, &away) && isBroken(err)
}

func retryAfter(err error) time.Duration {
	if refused := new(Error); errors.As(err, &refused) {
		return refused.RetryAfter
	}
	return 0
}

// sleep waits, or returns what has ended ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
