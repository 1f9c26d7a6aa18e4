package auth

import "time"

// Kind says by what somebody is known.
type Kind string

// The kinds of principals.
const (
	// User is one of the registry's users, by a login.
	User Kind = "user"
	// Token is an API token of the registry.
	Token Kind = "token"
	// TokenFile is the token of --api-token-file.
	TokenFile Kind = "token-file"
	// OIDC is somebody whom an OpenID provider knows.
	OIDC Kind = "oidc"
	// Machine is anybody on this machine: who connects to a loopback address while there are no users, or to the
	// socket in the data folder.
	Machine Kind = "machine"
)

// Principal is who a request comes from, and what is granted to them. The zero Principal is nobody.
type Principal struct {
	Name string
	Kind Kind
	Grant
	// Session is the id of the login token, by which it can be revoked; empty for others.
	Session string
	// Expires is when what they are known by does; zero for never.
	Expires time.Time
}
