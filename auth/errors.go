package auth

import (
	"errors"
	"fmt"
	"time"
)

// Errors of Access, for use with errors.Is.
var (
	// ErrUnavailable says that the access document was never read, or not in the last minute. No request is admitted.
	ErrUnavailable = errors.New("users and grants are not known")
	// ErrNotFound says that there is no user or API token with that name.
	ErrNotFound = errors.New("not found")
	// ErrExists says that the name is in use.
	ErrExists = errors.New("already exists")
	// ErrLastAdmin says that the change would leave users or tokens but no admin for all apps.
	ErrLastAdmin = errors.New("no admin for all apps would be left")
	// ErrFull says that the access document has no room for the change. Its text says how to make room.
	ErrFull = errors.New("no room")
)

// The codes of Refused. Clients see them as the codes of errors.
const (
	BadToken       = "bad_token"
	TokenExpired   = "token_expired"
	TokenRevoked   = "token_revoked"
	BadCredentials = "bad_credentials"
)

// Refused is the error of a failed authentication. It contains nothing of the presented credentials.
type Refused struct {
	Code string
	// Why is a sentence for the user. It does not distinguish an unknown user from a wrong password.
	Why string
}

func (r *Refused) Error() string { return r.Why }

func refused(code, why string) error { return &Refused{Code: code, Why: why} }

// TooMany says that a login, or another check or change of a password, was throttled before the password was hashed.
// The reason is failed logins, or that too many hashes are being computed.
type TooMany struct {
	// RetryAfter is how long the client has to wait. It is greater than zero.
	RetryAfter time.Duration
}

func (t *TooMany) Error() string {
	return fmt.Sprintf("too many failed or concurrent logins: try again in %d s", t.Seconds())
}

// Seconds returns RetryAfter in whole seconds, rounded up, for the header Retry-After.
func (t *TooMany) Seconds() int64 { return int64((t.RetryAfter + time.Second - 1) / time.Second) }
