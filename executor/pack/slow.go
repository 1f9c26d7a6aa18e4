package pack

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/netproblem"
)

// While a task waits for a server that hangs, it occupies its CPU and memory. So a missing answer is a separate error,
// after which the scheduler tries the server with few tasks only (rule L8). A transfer from a server that sends very
// slowly is abandoned.

// unanswered is a failure of the server, or of the network on the way to it, that may be temporary. If reached is set,
// there was a connection to the server, so the failure concerns only this URL.
type unanswered struct {
	error
	reached bool
}

func (u unanswered) Unwrap() error { return u.error }

// requestError returns the error of a request without a response. reached says whether there was a connection.
func requestError(err error, reached bool) error {
	if advice := netproblem.Advice(err); advice != "" {
		return fmt.Errorf("%w%s", plainError(err), advice)
	}
	err = plainError(err)
	var (
		system   *net.OpError
		name     *net.DNSError
		deadline interface{ Timeout() bool }
	)
	switch {
	case errors.As(err, &name),
		errors.As(err, &system) && system.Op == "dial",
		errors.As(err, &deadline) && deadline.Timeout(),
		isBroken(err):
		return unanswered{err, reached}
	}
	return err
}

// pace detects a transfer that is slower than the minimum rate.
type pace struct {
	limits Limits
	since  time.Time
	bytes  int64 // received since then
}

// add counts n received bytes. It returns an error if the transfer is too slow.
func (p *pace) add(n int) error {
	p.bytes += int64(n)
	elapsed := time.Since(p.since)
	if elapsed < p.limits.RateOver {
		return nil
	}
	if rate := float64(p.bytes) / elapsed.Seconds(); rate < float64(p.limits.Rate) {
		return fmt.Errorf("the server sent %d bytes in the last %v; at least %d a second are required", p.bytes,
			elapsed.Round(time.Millisecond), p.limits.Rate)
	}
	p.since, p.bytes = p.since.Add(elapsed), 0
	return nil
}
