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
// without the port. Errors: *Refused with BadCredentials, with the same text and the same work for an unknown user and
// a wrong password; *TooMany; ErrUnavailable.
func (d *Access) Login(ctx context.Context, name, password, from string) (token string, p Principal, err error) {
	u, s, err := d.check(ctx, name, password, from)
	if err != nil {
		return "", Principal{}, err
	}
	return d.issue(s, claims{Name: u.Name, Kind: User, Generation: u.Generation}, u.Grant, d.lifetime)
}

// CheckPassword checks a user's password like Login but issues no token. It serves users who change their own
// password.
func (d *Access) CheckPassword(ctx context.Context, name, password, from string) error {
	_, _, err := d.check(ctx, name, password, from)
	return err
}

func (d *Access) check(ctx context.Context, name, password, from string) (*user, *snapshot, error) {
	s, err := d.current()
	if err != nil {
		return nil, nil, err
	}
	counted := name
	if !isName(name) {
		counted = "" // no user can have such a name, so do not store it in a counter
	}
	attempt, wait := d.begin(counted, from)
	if wait > 0 {
		return nil, nil, &TooMany{RetryAfter: wait}
	}
	u, hash := s.users[name], d.hasher.nobody
	if u != nil {
		hash = u.Hash
	}
	if len(password) > maxPassword { // no valid password; still do the work of checking a wrong one
		password, u = "", nil
	}
	in := d.hasher.untrusted
	if attempt.trusted() {
		in = d.hasher.trusted
	}
	right, err := d.hasher.verify(ctx, in, hash, password)
	d.limits.Lock()
	defer d.limits.Unlock()
	switch {
	case err != nil:
		d.limits.undo(attempt)
		var many *TooMany
		if errors.As(err, &many) {
			return nil, nil, err
		}
		return nil, nil, fmt.Errorf("log in: %w", err)
	case !right || u == nil:
		d.limits.failed(d.now(), attempt)
		return nil, nil, refused(BadCredentials, "wrong user name or password")
	}
	d.limits.succeeded(attempt)
	return u, s, nil
}

func (d *Access) begin(name, from string) (attempt, time.Duration) {
	d.limits.Lock()
	defer d.limits.Unlock()
	return d.limits.begin(d.now(), name, from)
}

// Issue returns a login token for a principal that an OpenID provider has authenticated: one of kind OIDC, with a name
// and a grant. The token lasts at most lifetime and at most the lifetime of logins; a zero lifetime means the latter.
func (d *Access) Issue(p Principal, lifetime time.Duration) (token string, issued Principal, err error) {
	s, err := d.current()
	if err != nil {
		return "", Principal{}, err
	}
	named := p.Name != "" && len(p.Name) <= maxIssuedName && utf8.ValidString(p.Name) &&
		!strings.ContainsFunc(p.Name, unicode.IsControl)
	if p.Kind != OIDC || !named || p.Role == NoRole || lifetime < 0 {
		return "", Principal{}, fmt.Errorf("issue a login token: the principal must be of an OpenID provider, with a role and a name of at most %d bytes without control characters", maxIssuedName)
	}
	if lifetime == 0 || lifetime > d.lifetime {
		lifetime = d.lifetime
	}
	return d.issue(s, claims{Name: p.Name, Kind: OIDC, Grant: &p.Grant}, p.Grant, lifetime)
}

// maxIssuedName is the greatest length in bytes of a name from a provider.
const maxIssuedName = 200

func (d *Access) issue(s *snapshot, c claims, grant Grant, lifetime time.Duration) (string, Principal, error) {
	session, now := randomHex(idHex/2), d.now()
	c.Session, c.Issued, c.Expires = session, now.UnixMilli(), now.Add(lifetime).UnixMilli()
	token, err := c.sign(s.Keys.Login)
	if err != nil {
		return "", Principal{}, err
	}
	return token, Principal{Name: c.Name, Kind: c.Kind, Grant: grant, Session: session,
		Expires: time.UnixMilli(c.Expires).UTC()}, nil
}

// Logout revokes the login of a principal. It does nothing for a principal without a login.
func (d *Access) Logout(ctx context.Context, p Principal) error {
	if p.Session == "" {
		return nil
	}
	return d.change(ctx, func(doc *accessDocument) error {
		return d.revoke(doc, revocation{Session: p.Session, Kind: p.Kind, Name: p.Name, Until: p.Expires})
	})
}

// revoke revokes logins. If there is no room for another revocation, it replaces the keys, which ends all logins: no
// revoked login may stay valid.
func (d *Access) revoke(doc *accessDocument, r revocation) error {
	err := doc.revoke(r, d.now())
	if errors.Is(err, ErrFull) {
		d.log.Warn("all logins ended: there is no room for more logouts, which are kept until their logins would have expired; a shorter --login-lifetime makes room")
		doc.replaceKeys(keys{Login: randomBytes(keyBytes), Proof: doc.Keys.Proof})
		return nil
	}
	return err
}
