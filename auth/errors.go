package auth

import (
	"errors"
	"fmt"
	"time"
)

// Errors of Access that are told apart by errors.Is.
var (
	// ErrUnavailable says that who may do what is not known: the access document was not read yet, or not for too
	// long. Nobody is let in.
	ErrUnavailable = errors.New("who may do what is not known at present")
	// ErrNotFound says that there is no user or API token of that name.
	ErrNotFound = errors.New("not found")
	// ErrExists says that there is one already.
	ErrExists = errors.New("exists already")
	// ErrLastAdmin says that nobody would be an admin for all apps any more, while there are others.
	ErrLastAdmin = errors.New("nobody would be an admin for all apps any more")
	// ErrFull says that the access document has no room, and what to remove.
	ErrFull = errors.New("no room")
)

// The codes of a Refused.
const (
	BadToken       = "bad_token"
	TokenExpired   = "token_expired"
	TokenRevoked   = "token_revoked"
	BadCredentials = "bad_credentials"
)

// Refused says that somebody is not let in. It has nothing of what they brought.
type Refused struct {
	Code string
	// Why is a sentence for them. It does not tell an unknown user from a wrong password.
	Why string
}

func (r *Refused) Error() string { return r.Why }

func refused(code, why string) error { return &Refused{Code: code, Why: why} }

// TooMany says that a login was not tried: too many have failed, or too many are under way.
type TooMany struct {
	// RetryAfter is how long to wait, more than zero.
	RetryAfter time.Duration
}

func (t *TooMany) Error() string {
	return fmt.Sprintf("too many logins have failed, or are under way: try again in %d s", t.Seconds())
}

// Seconds is RetryAfter in whole seconds, rounded up, as the header Retry-After has it.
func (t *TooMany) Seconds() int64 { return int64((t.RetryAfter + time.Second - 1) / time.Second) }
