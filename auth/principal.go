package auth

import "time"

// Kind is the kind of a principal. It depends on the credential.
type Kind string

// The kinds of principals.
const (
	// User is a user of the access document, by a login.
	User Kind = "user"
	// Token is an API token of the access document.
	Token Kind = "token"
	// TokenFile is the token of --api-token-file.
	TokenFile Kind = "token-file"
	// OIDC is a user whom an OpenID provider has authenticated.
	OIDC Kind = "oidc"
	// Machine is a process of this machine that needs no credential: it connects to a loopback address while there are
	// no users, or to the admin socket in the data folder.
	Machine Kind = "machine"
)

// Principal is the authenticated origin of a request with its grant. The zero Principal has no grant.
type Principal struct {
	Name string
	Kind Kind
	Grant
	// Session is the id of the login token, by which Logout revokes it. It is empty if the credential is no login
	// token.
	Session string
	// Expires is when the credential expires; zero for never.
	Expires time.Time
}
