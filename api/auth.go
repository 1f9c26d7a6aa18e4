package api

import (
	"context"
	"time"

	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/history/event"
)

// Access is what the API needs of users and tokens; *auth.Access has it, and says what its errors are.
type Access interface {
	// State, Authenticate, Users and Tokens answer at once.
	State() auth.State
	Authenticate(token string) (auth.Principal, error)
	Login(ctx context.Context, name, password, from string) (token string, p auth.Principal, err error)
	Logout(ctx context.Context, p auth.Principal) error
	// CheckPassword checks a password as Login does, and issues nothing.
	CheckPassword(ctx context.Context, name, password, from string) error

	Users() ([]auth.Account, error)
	AddUser(ctx context.Context, actor event.Actor, name, password string, grant auth.Grant) (auth.Account, error)
	ChangeUser(ctx context.Context, actor event.Actor, name string, grant auth.Grant) (auth.Account, error)
	SetPassword(ctx context.Context, actor event.Actor, name, password string) error
	EndLogins(ctx context.Context, actor event.Actor, name string) error
	ReplaceKeys(ctx context.Context, actor event.Actor) error
	RemoveUser(ctx context.Context, actor event.Actor, name string) error

	Tokens() ([]auth.APIToken, error)
	AddToken(ctx context.Context, actor event.Actor, name string, grant auth.Grant, expires time.Time) (token string,
		made auth.APIToken, err error)
	RemoveToken(ctx context.Context, actor event.Actor, name string) error
}

var _ Access = (*auth.Access)(nil)

// state is whether a login is needed, as Access says, and always where an OpenID provider is. Without any nothing is
// known of anybody, and nobody is let in.
func (s *Server) state() auth.State {
	if s.opts.Access == nil {
		return auth.Unknown
	}
	if state := s.opts.Access.State(); state != auth.Empty || s.opts.OpenID == nil {
		return state
	}
	return auth.Closed // whom the provider knows can log in
}
