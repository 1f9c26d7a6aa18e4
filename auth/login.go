package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Login checks the name and the password of a user, and returns a login token. from is the address of the client
// without the port. Errors: *Refused with BadCredentials; *TooMany; ErrUnavailable. The text of Refused and the time
// until it is returned are the same for an unknown user and for a wrong password.
func (a *Access) Login(ctx context.Context, name, password, from string) (token string, p Principal, err error) {
	u, s, err := a.checkPassword(ctx, name, password, from)
	if err != nil {
		return "", Principal{}, err
	}
	return a.issue(s, claims{Name: u.Name, Kind: User, Generation: u.Generation}, u.Grant, a.lifetime)
}

// CheckPassword checks a user's password like Login but issues no token. Users who change their own password must
// enter the old one.
func (a *Access) CheckPassword(ctx context.Context, name, password, from string) error {
	_, _, err := a.checkPassword(ctx, name, password, from)
	return err
}

// checkPassword returns the user if the password is right, with the snapshot that has the user.
func (a *Access) checkPassword(ctx context.Context, name, password, from string) (*user, *snapshot, error) {
	s, err := a.current()
	if err != nil {
		return nil, nil, err
	}
	counterName := name
	if !isName(name) {
		counterName = "" // no user can have this name, so the limiter need not store it
	}
	attempt, wait := a.beginAttempt(counterName, from)
	if wait > 0 {
		return nil, nil, &TooMany{RetryAfter: wait}
	}
	u, hash := s.users[name], a.hasher.dummy
	if u != nil {
		hash = u.Hash
	}
	if len(password) > maxPassword { // it must be wrong, but refusing it must take as long as for other passwords
		password, u = "", nil
	}
	q := a.hasher.untrusted
	if attempt.trusted() {
		q = a.hasher.trusted
	}
	right, err := a.hasher.verify(ctx, q, hash, password)
	a.limits.Lock()
	defer a.limits.Unlock()
	switch {
	case err != nil:
		a.limits.undo(attempt)
		var throttled *TooMany
		if errors.As(err, &throttled) {
			return nil, nil, err
		}
		return nil, nil, fmt.Errorf("log in: %w", err)
	case !right || u == nil:
		a.limits.failed(a.now(), attempt)
		return nil, nil, refused(BadCredentials, "wrong user name or password")
	}
	a.limits.succeeded(attempt)
	return u, s, nil
}

func (a *Access) beginAttempt(name, from string) (attempt, time.Duration) {
	a.limits.Lock()
	defer a.limits.Unlock()
	return a.limits.begin(a.now(), name, from)
}

// Issue returns a login token for a principal that an OpenID provider has authenticated. The principal must have the
// kind OIDC, a name and a role. The token expires after lifetime or after Options.LoginLifetime, whichever is shorter;
// a lifetime of zero means Options.LoginLifetime.
func (a *Access) Issue(p Principal, lifetime time.Duration) (token string, issued Principal, err error) {
	s, err := a.current()
	if err != nil {
		return "", Principal{}, err
	}
	validName := p.Name != "" && len(p.Name) <= maxIssuedName && utf8.ValidString(p.Name) &&
		!strings.ContainsFunc(p.Name, unicode.IsControl)
	if p.Kind != OIDC || !validName || p.Role == NoRole || lifetime < 0 {
		return "", Principal{}, fmt.Errorf("issue a login token: the principal must be of an OpenID provider, with a role and a name of at most %d bytes without control characters", maxIssuedName)
	}
	if lifetime == 0 || lifetime > a.lifetime {
		lifetime = a.lifetime
	}
	return a.issue(s, claims{Name: p.Name, Kind: OIDC, Grant: &p.Grant}, p.Grant, lifetime)
}

// maxIssuedName is the greatest number of bytes of a name from a provider.
const maxIssuedName = 200

// issue completes the claims with a session and its times, and signs them. grant is the grant of the principal.
func (a *Access) issue(s *snapshot, c claims, grant Grant, lifetime time.Duration) (string, Principal, error) {
	session, now := randomHex(idHex/2), a.now()
	c.Session, c.Issued, c.Expires = session, now.UnixMilli(), now.Add(lifetime).UnixMilli()
	token, err := c.sign(s.Keys.Login)
	if err != nil {
		return "", Principal{}, err
	}
	return token, Principal{Name: c.Name, Kind: c.Kind, Grant: grant, Session: session,
		Expires: time.UnixMilli(c.Expires).UTC()}, nil
}

// Logout revokes the login token of a principal. It does nothing for a principal without a login token.
func (a *Access) Logout(ctx context.Context, p Principal) error {
	if p.Session == "" {
		return nil
	}
	return a.change(ctx, func(doc *accessDocument) error {
		return a.revoke(doc, revocation{Session: p.Session, Kind: p.Kind, Name: p.Name, Until: p.Expires})
	})
}

// revoke adds a revocation to the document. If there is no room for it, revoke replaces the key of logins, which ends
// all logins, because no revoked login may stay valid.
func (a *Access) revoke(doc *accessDocument, r revocation) error {
	err := doc.revoke(r, a.now())
	if errors.Is(err, ErrFull) {
		a.log.Warn("all logins ended: there is no room for more logouts, which are kept until their logins would have expired; a shorter --login-lifetime makes room")
		doc.replaceKeys(keys{Login: randomBytes(keyBytes), Proof: doc.Keys.Proof})
		return nil
	}
	return err
}
