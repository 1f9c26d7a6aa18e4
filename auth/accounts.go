package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/document"
)

const (
	// MinPassword is the least number of characters of a password.
	MinPassword = 8
	// maxPassword is the greatest number of bytes of a password.
	maxPassword = 1024
)

// Account is the public part of a user.
type Account struct {
	Name string `json:"name"`
	Grant
	Created time.Time `json:"created"`
}

// APIToken is the public part of an API token, without its secret.
type APIToken struct {
	Name string `json:"name"`
	Grant
	Created time.Time `json:"created"`
	// Expires is zero for a token that does not expire.
	Expires time.Time `json:"expires,omitzero"`
	// By is the name of the actor that created the token.
	By string `json:"by,omitempty"`
}

// Users returns all users, by name.
func (a *Access) Users() ([]Account, error) {
	s, err := a.current()
	if err != nil {
		return nil, err
	}
	all := make([]Account, 0, len(s.accessDocument.Users))
	for i := range s.accessDocument.Users {
		all = append(all, s.accessDocument.Users[i].account())
	}
	slices.SortFunc(all, func(a, b Account) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// account returns the public part of the user.
func (u *user) account() Account { return Account{Name: u.Name, Grant: u.Grant, Created: u.Created} }

// AddUser creates a user. Errors: document.Violations, ErrExists, ErrFull, *TooMany.
func (a *Access) AddUser(ctx context.Context, actor event.Actor, name, password string, grant Grant) (Account, error) {
	bad := slices.Concat(CheckName(name), CheckNewPassword(password), checkGrant(grant))
	if err := bad.OrNil(); err != nil {
		return Account{}, err
	}
	u, err := a.newUser(ctx, name, password, grant)
	if err != nil {
		return Account{}, err
	}
	err = a.changeAudited(ctx, actor, "user.add", name, func(doc *accessDocument) (before, after any, err error) {
		if doc.user(name) != nil {
			return nil, nil, fmt.Errorf("%w: there is a user %s", ErrExists, name)
		}
		doc.Users = append(doc.Users, u)
		return nil, u.Grant, nil
	})
	return u.account(), err
}

func (a *Access) newUser(ctx context.Context, name, password string, grant Grant) (user, error) {
	hash, err := a.hasher.hash(ctx, password)
	if err != nil {
		return user{}, err
	}
	return user{Name: name, Hash: hash, Grant: grant, Generation: randomHex(8), Created: a.stamp()}, nil
}

// ChangeUser changes the role or the apps of a user, which ends the user's logins. If the grant is the same, it
// changes nothing. Errors: document.Violations, ErrNotFound, ErrLastAdmin, ErrFull.
func (a *Access) ChangeUser(ctx context.Context, actor event.Actor, name string, grant Grant) (changed Account,
	err error) {
	if err := checkGrant(grant).OrNil(); err != nil {
		return Account{}, err
	}
	err = a.changeAudited(ctx, actor, "user.update", name, func(doc *accessDocument) (before, after any, err error) {
		u := doc.user(name)
		if u == nil {
			return nil, nil, noUser(name)
		}
		if u.Role == grant.Role && slices.Equal(u.Apps, grant.Apps) {
			changed = u.account()
			return nil, nil, errUnchanged
		}
		before = u.Grant
		u.Grant, u.Generation = grant, randomHex(8)
		changed = u.account()
		return before, grant, nil
	})
	return changed, err
}

// SetPassword changes the password of a user, which ends the user's logins. Errors: document.Violations, ErrNotFound,
// ErrFull, *TooMany.
func (a *Access) SetPassword(ctx context.Context, actor event.Actor, name, password string) error {
	if err := CheckNewPassword(password).OrNil(); err != nil {
		return err
	}
	fresh, err := a.newUser(ctx, name, password, Grant{})
	if err != nil {
		return err
	}
	return a.changeAudited(ctx, actor, "user.password", name, func(doc *accessDocument) (before, after any, err error) {
		u := doc.user(name)
		if u == nil {
			return nil, nil, noUser(name)
		}
		u.Hash, u.Generation = fresh.Hash, fresh.Generation
		return nil, nil, nil
	})
}

// EndLogins ends all logins with this name: those of the user, and those through an OpenID provider. Neither has to
// exist. Errors: document.Violations, ErrFull.
func (a *Access) EndLogins(ctx context.Context, actor event.Actor, name string) error {
	if name == "" || len(name) > maxIssuedName {
		return document.Violations{document.Violate("name", name, "must be 1 to %d bytes", maxIssuedName)}
	}
	return a.changeAudited(ctx, actor, "user.logout", name, func(doc *accessDocument) (before, after any, err error) {
		if u := doc.user(name); u != nil {
			u.Generation = randomHex(8)
		}
		now := a.now()
		return nil, nil, a.revoke(doc, revocation{Kind: OIDC, Name: name, Before: now,
			Until: now.Add(MaxLoginLifetime)})
	})
}

// ReplaceKeys creates new keys, which ends all logins. Call it if the present keys may have leaked. For about a
// second, servers that have not read the new keys refuse forwarded requests. Errors: ErrFull.
func (a *Access) ReplaceKeys(ctx context.Context, actor event.Actor) error {
	return a.changeAudited(ctx, actor, "key.replace", "", func(doc *accessDocument) (before, after any, err error) {
		doc.replaceKeys(newKeys())
		return nil, nil, nil
	})
}

// RemoveUser removes a user, which ends the user's logins. Errors: ErrNotFound, ErrLastAdmin, ErrFull.
func (a *Access) RemoveUser(ctx context.Context, actor event.Actor, name string) error {
	return a.changeAudited(ctx, actor, "user.remove", name, func(doc *accessDocument) (before, after any, err error) {
		u := doc.user(name)
		if u == nil {
			return nil, nil, noUser(name)
		}
		before = u.Grant
		doc.Users = slices.DeleteFunc(doc.Users, func(u user) bool { return u.Name == name })
		return before, nil, nil
	})
}

func noUser(name string) error { return fmt.Errorf("%w: there is no user %.120q", ErrNotFound, name) }

// Tokens returns all API tokens, by name.
func (a *Access) Tokens() ([]APIToken, error) {
	s, err := a.current()
	if err != nil {
		return nil, err
	}
	all := make([]APIToken, 0, len(s.Tokens))
	for i := range s.Tokens {
		all = append(all, s.Tokens[i].public())
	}
	slices.SortFunc(all, func(a, b APIToken) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// public returns the token without its secret.
func (t *apiToken) public() APIToken {
	return APIToken{Name: t.Name, Grant: t.Grant, Created: t.Created, Expires: t.Expires, By: t.By}
}

// AddToken creates an API token. If expires is zero, the token never expires. Only this call returns the token itself;
// its hash is stored. Errors: document.Violations, ErrExists, ErrFull.
func (a *Access) AddToken(ctx context.Context, actor event.Actor, name string, grant Grant,
	expires time.Time) (token string, created APIToken, err error) {
	bad := slices.Concat(CheckName(name), checkGrant(grant))
	if !expires.IsZero() && !expires.After(a.now()) {
		bad = append(bad, document.Violate("expires", expires.Format(time.RFC3339),
			"must be in the future, or left out for a token that does not expire"))
	}
	if err := bad.OrNil(); err != nil {
		return "", APIToken{}, err
	}
	token, id, hash := newAPIToken()
	t := apiToken{Name: name, ID: id, Hash: hash, Grant: grant, Created: a.stamp(), Expires: expires.UTC(),
		By: actor.Name}
	err = a.changeAudited(ctx, actor, "token.add", name, func(doc *accessDocument) (before, after any, err error) {
		if doc.token(name) != nil {
			return nil, nil, fmt.Errorf("%w: there is an API token %s", ErrExists, name)
		}
		doc.Tokens = append(doc.Tokens, t)
		return nil, auditedToken{t.Grant, t.Expires}, nil
	})
	if err != nil {
		return "", APIToken{}, err
	}
	return token, t.public(), nil
}

// auditedToken is the content of an API token in an audit row.
type auditedToken struct {
	Grant
	Expires time.Time `json:"expires,omitzero"`
}

// RemoveToken removes an API token, which is invalid from then on. Errors: ErrNotFound, ErrLastAdmin, ErrFull.
func (a *Access) RemoveToken(ctx context.Context, actor event.Actor, name string) error {
	return a.changeAudited(ctx, actor, "token.remove", name, func(doc *accessDocument) (before, after any, err error) {
		t := doc.token(name)
		if t == nil {
			return nil, nil, fmt.Errorf("%w: there is no API token %.120q", ErrNotFound, name)
		}
		before = auditedToken{t.Grant, t.Expires}
		doc.Tokens = slices.DeleteFunc(doc.Tokens, func(t apiToken) bool { return t.Name == name })
		return before, nil, nil
	})
}

// changeAudited makes a change of the document together with its audit row. apply returns the states before and after
// the change for that row, or errUnchanged if nothing is to be changed. changeAudited then writes nothing and returns
// nil.
func (a *Access) changeAudited(ctx context.Context, actor event.Actor, action, name string,
	apply func(*accessDocument) (before, after any, err error)) error {
	target, _, _ := strings.Cut(action, ".")
	row := event.Audit{ID: randomHex(16), Time: a.stamp(), Actor: actor, Action: action, Target: target,
		TargetName: name}
	err := a.change(ctx, func(doc *accessDocument) error {
		hadAdmin := doc.hasAdmin()
		before, after, err := apply(doc)
		lostAdmin := hadAdmin && !doc.hasAdmin() && len(doc.Users)+len(doc.Tokens) > 0
		if err == nil && a.keepAdmin && lostAdmin {
			err = fmt.Errorf("%w: give another user that role first (scheduler user add NAME --role admin)",
				ErrLastAdmin)
		}
		if err == nil {
			row.Before, err = auditText(before)
		}
		if err == nil {
			row.After, err = auditText(after)
		}
		if err != nil {
			return err
		}
		doc.Audit = append(doc.Audit, row)
		return nil
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

// maxAuditText is the greatest number of bytes of the state before or after a change in an audit row.
const maxAuditText = 4096

// auditText returns the value as JSON. If the JSON is longer than maxAuditText, auditText returns an object with its
// beginning.
func auditText(v any) (string, error) {
	if v == nil {
		return "", nil
	}
	text, err := json.Marshal(v)
	if err == nil && len(text) > maxAuditText {
		text, err = json.Marshal(map[string]string{"cut": string(text[:maxAuditText/2])})
	}
	return string(text), err
}

// stamp returns the current time in the precision of stored times.
func (a *Access) stamp() time.Time { return a.now().UTC().Truncate(time.Millisecond) }

// maxName is the greatest number of bytes of the name of a user or token.
const maxName = 100

// isName reports whether a name is valid for users and tokens.
func isName(name string) bool {
	if name == "" || len(name) > maxName || strings.ContainsRune("._@-", rune(name[0])) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._@-", r)
	})
}

// CheckName returns the violations of the name of a user or an API token.
func CheckName(name string) document.Violations {
	if isName(name) {
		return nil
	}
	return document.Violations{document.Violate("name", name,
		"must be 1 to %d letters, digits, dots, underscores, @ and hyphens, and begin with a letter or digit",
		maxName)}
}

// CheckNewPassword returns the violations of a new password. They don't contain the password.
func CheckNewPassword(password string) document.Violations {
	why := ""
	switch {
	case len(password) > maxPassword:
		why = fmt.Sprintf("has %d bytes; the maximum is %d", len(password), maxPassword)
	case !utf8.ValidString(password) || strings.ContainsFunc(password, unicode.IsControl):
		why = "must be text in UTF-8 without control characters"
	case utf8.RuneCountInString(password) < MinPassword:
		why = fmt.Sprintf("must have at least %d characters", MinPassword)
	default:
		return nil
	}
	return document.Violations{document.Violate("password", "", "%s", why)}
}

func checkGrant(g Grant) (bad document.Violations) {
	if g.Role <= NoRole || int(g.Role) >= len(roleNames) {
		bad = append(bad, document.Violate("role", "", "must be one of admin, operator, viewer, metrics"))
	}
	if why := CheckApps(g.Apps); why != "" {
		bad = append(bad, document.Violate("apps", strings.Join(g.Apps, ","), "%s", why))
	} else if g.Role == Metrics && !g.Unrestricted() {
		bad = append(bad, document.Violate("apps", strings.Join(g.Apps, ","),
			"the role metrics is for all apps: leave apps out"))
	}
	return bad
}
