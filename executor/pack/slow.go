package pack

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// A package whose server hangs holds its task's CPU and memory for as long as it is waited for. So a server that
// doesn't answer is an error of its own, for the scheduler to try it with few tasks (rule L8), and one that sends next
// to nothing is given up.

// unanswered is a failure for which the server, or what is at its address, is to blame: it may well be back later.
// What was reached is to blame for this URL only.
type unanswered struct {
	error
	reached bool
}

func (u unanswered) Unwrap() error { return u.error }

// noAnswer is the error of a request without a response. Reached says that there was a connection.
func noAnswer(err error, reached bool) error {
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

// pace detects when a transfer brings less than is wanted.
type pace struct {
	limits Limits
	since  time.Time
	bytes  int64
}

// slow counts n bytes.
func (p *pace) slow(n int) error {
	p.bytes += int64(n)
	took := time.Since(p.since)
	if took < p.limits.RateOver {
		return nil
	}
	if rate := float64(p.bytes) / took.Seconds(); rate < float64(p.limits.Rate) {
		return fmt.Errorf("the server sent %d bytes in the last %v; %d a second are wanted", p.bytes,
			took.Round(time.Millisecond), p.limits.Rate)
	}
	p.since, p.bytes = p.since.Add(took), 0
	return nil
}
