package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"
)

const (
	// retryTimeout is the time for which a request is retried while the server cannot answer. A new leader is elected
	// within that time.
	retryTimeout = 15 * time.Second
	// firstPause is the pause before the second attempt. Each further pause is twice as long, up to maxPause.
	firstPause = 200 * time.Millisecond
	maxPause   = 3 * time.Second
)

// UnknownError is the error of a trigger that may or may not have made a run. The same trigger with the same key does
// not make a second run, and returns the run's id.
type UnknownError struct {
	// Key is the idempotency key of the trigger.
	Key string
	// Err says why the outcome is unknown.
	Err error
}

// Error returns the message of Err.
func (e *UnknownError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *UnknownError) Unwrap() error { return e.Err }

// retry makes a request with try, and repeats it while the server is temporarily unavailable, if the request may be
// made twice or was not carried out. A trigger that may have reached the server is also repeated while the server does
// not answer at all, because otherwise the user would not know whether there is a run.
func (c *Client) retry(ctx context.Context, r request, try func() error) error {
	var (
		deadline  time.Time
		maybeDone bool // the request has a key, and an earlier attempt may have been carried out
	)
	result := func(err error) error {
		if maybeDone && !isAnswer(err) {
			return &UnknownError{Key: r.key, Err: err}
		}
		return err
	}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := try()
		maybeDone = maybeDone || r.key != "" && isOutcomeUnknown(err)
		if deadline.IsZero() {
			deadline = time.Now().Add(c.retryTimeout)
		}
		wait := max(pause, retryAfter(err))
		shouldRetry := isTemporary(err) && (r.isRepeatable() || isRateLimited(err)) || maybeDone && isUnreachable(err)
		if !shouldRetry || time.Now().Add(wait).After(deadline) {
			return result(err)
		}
		if err := sleep(ctx, wait); err != nil {
			return result(err)
		}
	}
}

// isRepeatable reports whether a request may be made twice: it is a read, or the server recognizes it by its key.
func (r request) isRepeatable() bool { return r.method == http.MethodGet || r.key != "" }

// permanentCodes are the codes of errors that have the status of a temporary error, but that retries do not resolve.
var permanentCodes = []string{"no_history", "history_unavailable", "no_package_check", "tls_differs",
	"leader_not_trusted", "token_differs", "oidc_unavailable", "no_output_yet", "too_many_streams"}

// isTemporary reports whether err is temporary: the server is changing its leader, is restarting, or gets too many
// requests, or a proxy in front of it can't reach it. A connection that can't be made does not count, because the
// server's address may be wrong, and the user is waiting for an answer.
func isTemporary(err error) bool {
	var refused *Error
	if errors.As(err, &refused) {
		return isTemporaryStatus(refused.Status) && !slices.Contains(permanentCodes, refused.Code)
	}
	return isUnreachable(err) && isBroken(err)
}

// isTemporaryStatus reports whether a status is that of a temporary error.
func isTemporaryStatus(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// isRateLimited reports whether the server refused the request because there were too many, and did not carry it out.
func isRateLimited(err error) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.Status == http.StatusTooManyRequests
}

// isUnreachable reports whether err is an UnreachableError.
func isUnreachable(err error) bool {
	var unreachable *UnreachableError
	return errors.As(err, &unreachable)
}

// isOutcomeUnknown reports whether the request may have been carried out despite err.
func isOutcomeUnknown(err error) bool {
	var refused *Error
	switch {
	case errors.As(err, &refused):
		return refused.Code == "outcome_unknown" ||
			refused.Code == "" && isTemporaryStatus(refused.Status) && !isRateLimited(err)
	case isUnreachable(err):
		return !isDial(err) && (isBroken(err) || errors.Is(err, context.DeadlineExceeded))
	}
	return errors.Is(err, context.Canceled)
}

// isAnswer reports whether the server has answered in a way that shows whether it carried the request out.
func isAnswer(err error) bool {
	var refused *Error
	return err == nil || errors.As(err, &refused) && !isTemporaryStatus(refused.Status)
}

// retryAfter returns Error.RetryAfter of an error; 0 for other errors.
func retryAfter(err error) time.Duration {
	if refused := new(Error); errors.As(err, &refused) {
		return refused.RetryAfter
	}
	return 0
}

// sleep waits for d. If ctx ends earlier, it returns the error of ctx.
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
