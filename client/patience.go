package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"
)

const (
	// patience is how long a request is tried again that a server can't answer now: a new leader is found within it.
	patience = 15 * time.Second
	// firstPause comes before the second try; each further one is twice as long, up to mostPause.
	firstPause = 200 * time.Millisecond
	mostPause  = 3 * time.Second
)

// UnknownError says that a trigger was sent and that it is not known whether it made a run. The same trigger with the
// same key finds that out, and makes no second run.
type UnknownError struct {
	// Key is what the trigger was sent with.
	Key string
	// Err is why its outcome is not known.
	Err error
}

// Error says why the outcome is not known.
func (e *UnknownError) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *UnknownError) Unwrap() error { return e.Err }

// patiently makes a request again while the server says that it can't answer now, if making it twice is harmless or it
// was not carried out. A trigger that may have reached the server is also sent again to one that does not answer at
// all, because its user would else not know whether there is a run.
func (c *Client) patiently(ctx context.Context, r request, try func() error) error {
	var (
		deadline time.Time
		sent     bool // with a key, and nobody knows what came of it
	)
	given := func(err error) error {
		if sent && !isAnswer(err) {
			return &UnknownError{Key: r.key, Err: err}
		}
		return err
	}
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		err := try()
		sent = sent || r.key != "" && isUnknown(err)
		if deadline.IsZero() {
			deadline = time.Now().Add(c.patience)
		}
		wait := max(pause, retryAfter(err))
		again := isPassing(err) && (r.harmless() || isPutOff(err)) || sent && isSilence(err)
		if !again || time.Now().Add(wait).After(deadline) {
			return given(err)
		}
		if err := sleep(ctx, wait); err != nil {
			return given(err)
		}
	}
}

// harmless reports whether a request may be made twice: it changes nothing, or the server knows it by its key.
func (r request) harmless() bool { return r.method == http.MethodGet || r.key != "" }

// lasting are the codes of refusals that have the status of a passing one, and stay until somebody does something.
var lasting = []string{"no_history", "history_unavailable", "no_package_check", "tls_differs", "leader_not_trusted",
	"token_differs", "oidc_unavailable",
	"no_output_yet", "too_many_streams"}

// isPassing reports errors that a server which changes its leader, restarts, or is asked too often, or a proxy before
// it, gives for a moment. A server that can't be connected to is none: people wait for an answer, and its address may
// be wrong.
func isPassing(err error) bool {
	var refused *Error
	if errors.As(err, &refused) {
		return isPassingStatus(refused.Status) && !slices.Contains(lasting, refused.Code)
	}
	return isSilence(err) && isBroken(err)
}

func isPassingStatus(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// isPutOff reports that a request came too early, and was not carried out.
func isPutOff(err error) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.Status == http.StatusTooManyRequests
}

// isSilence reports that no answer came.
func isSilence(err error) bool {
	var away *UnreachableError
	return errors.As(err, &away)
}

// isUnknown reports errors after which a request may have been carried out.
func isUnknown(err error) bool {
	var refused *Error
	switch {
	case errors.As(err, &refused):
		return refused.Code == "outcome_unknown" ||
			refused.Code == "" && isPassingStatus(refused.Status) && !isPutOff(err)
	case isSilence(err):
		return !isDial(err) && (isBroken(err) || errors.Is(err, context.DeadlineExceeded))
	}
	return errors.Is(err, context.Canceled)
}

// isAnswer reports that the server has said what came of a request.
func isAnswer(err error) bool {
	var refused *Error
	return err == nil || errors.As(err, &refused) && !isPassingStatus(refused.Status)
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
