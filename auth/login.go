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

// Login checks a user's name and password, and returns a login token. From is the address that the request came from,
// without its port. Errors: *Refused with BadCredentials, the same answer after the same work for an unknown user and
// a wrong password; *TooMany; ErrUnavailable.
func (d *Access) Login(ctx context.Context, name, password, from string) (token string, p Principal, err error) {
	u, s, err := d.check(ctx, name, password, from)
	if err != nil {
		return "", Principal{}, err
	}
	return d.issue(s, claims{Name: u.Name, Kind: User, Generation: u.Generation}, u.Grant, d.lifetime)
}

// CheckPassword checks a user's password as Login does, and issues nothing: for who wants to change his own.
func (d *Access) CheckPassword(ctx context.Context, name, password, from string) error {
	_, _, err := d.check(ctx, name, password, from)
	return err
}

func (d *Access) check(ctx context.Context, name, password, from string) (*user, *snapshot, error) {
	s, err := d.known()
	if err != nil {
		return nil, nil, err
	}
	counted := name
	if !isName(name) {
		counted = "" // nobody has such a name, and they are not kept
	}
	attempt, wait := d.begin(counted, from)
	if wait > 0 {
		return nil, nil, &TooMany{RetryAfter: wait}
	}
	u, hash := s.users[name], d.hasher.nobody
	if u != nil {
		hash = u.Hash
	}
	if len(password) > maxPassword { // nobody's: the work is that of another wrong one
		password, u = "", nil
	}
	in := d.hasher.strangers
	if attempt.trusted() {
		in = d.hasher.known
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
		return nil, nil, refused(BadCredentials, "user and password do not belong together")
	}
	d.limits.succeeded(attempt)
	return u, s, nil
}

func (d *Access) begin(name, from string) (attempt, time.Duration) {
	d.limits.Lock()
	defer d.limits.Unlock()
	return d.limits.begin(d.now(), name, from)
}

// Issue returns a login token for somebody whom another has checked: a principal of kind OIDC, with a name and a
// grant. It lasts no longer than lifetime, nor than the lifetime of logins; zero stands for that.
func (d *Access) Issue(p Principal, lifetime time.Duration) (token string, issued Principal, err error) {
	s, err := d.known()
	if err != nil {
		return "", Principal{}, err
	}
	named := p.Name != "" && len(p.Name) <= maxIssuedName && utf8.ValidString(p.Name) &&
		!strings.ContainsFunc(p.Name, unicode.IsControl)
	if p.Kind != OIDC || !named || p.Role == NoRole || lifetime < 0 {
		return "", Principal{}, fmt.Errorf("issue a login token: it is for somebody of an OpenID provider, with a role and a name of at most %d bytes without control characters", maxIssuedName)
	}
	if lifetime == 0 || lifetime > d.lifetime {
		lifetime = d.lifetime
	}
	return d.issue(s, claims{Name: p.Name, Kind: OIDC, Grant: &p.Grant}, p.Grant, lifetime)
}

// maxIssuedName bounds what a provider may call somebody.
const maxIssuedName = 200

func (d *Access) issue(s *snapshot, c claims, grant Grant, lifetime time.Duration) (string, Principal, error) {
	session, err := d.randomHex(idHex / 2)
	if err != nil {
		return "", Principal{}, err
	}
	now := d.now()
	c.Session, c.Issued, c.Expires = session, now.UnixMilli(), now.Add(lifetime).UnixMilli()
	token, err := c.sign(s.Keys.Login)
	if err != nil {
		return "", Principal{}, err
	}
	return token, Principal{Name: c.Name, Kind: c.Kind, Grant: grant, Session: session,
		Expires: time.UnixMilli(c.Expires).UTC()}, nil
}

// Logout ends the login that a principal is known by. For one without a login it does nothing.
func (d *Access) Logout(ctx context.Context, p Principal) error {
	if p.Session == "" {
		return nil
	}
	fresh, err := newKeys(d.random)
	if err != nil {
		return err
	}
	return d.change(ctx, func(doc *accessDocument) error {
		return d.revoke(doc, revocation{Session: p.Session, Kind: p.Kind, Name: p.Name, Until: p.Expires}, fresh)
	})
}

// revoke ends logins. Where there is no room for one more logout all logins of everybody end: none goes on that was
// ended.
func (d *Access) revoke(doc *accessDocument, r revocation, fresh keys) error {
	err := doc.revoke(r, d.now())
	if errors.Is(err, ErrFull) {
		d.log.Warn("all logins ended: there is no room for more logouts of so many people, which are kept until their logins would have expired; a shorter --login-lifetime makes room")
		doc.replaceKeys(keys{Login: fresh.Login, Proof: doc.Keys.Proof})
		return nil
	}
	return err
}
