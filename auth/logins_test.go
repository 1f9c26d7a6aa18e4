package auth_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/auth"
)

// TestEndLogins checks that all logins of a user and all OpenID logins with that name end, but no others, and that a
// new login works.
func TestEndLogins(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), newClock()
	shared := newRegistry(t)
	d := open(t, auth.Options{Shared: shared, Now: c.Now})
	other := open(t, auth.Options{Shared: shared, Now: c.Now})
	addUser(t, d, "ann", admin)
	addUser(t, d, "ben", admin)
	login := func(name string) string {
		token, _, err := d.Login(ctx, name, password, "192.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	issue := func(name string) string {
		token, _, err := d.Issue(auth.Principal{Name: name, Kind: auth.OIDC, Grant: admin}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	over := []string{login("ann"), login("ann"), issue("ann")}
	stay := []string{login("ben"), issue("ben")}
	if err := d.EndLogins(ctx, actor, "ann"); err != nil {
		t.Fatal(err)
	}
	if err := d.EndLogins(ctx, actor, ""); err == nil {
		t.Error("an empty name was accepted")
	}
	c.add(time.Second)
	stay = append(stay, login("ann"), issue("ann"))
	if err := other.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	for _, access := range []*auth.Access{d, other} {
		for i, token := range over {
			var refused *auth.Refused
			if _, err := access.Authenticate(token); !errors.As(err, &refused) || refused.Code != auth.TokenRevoked {
				t.Errorf("ended %d: %v", i, err)
			}
		}
		for i, token := range stay {
			if _, err := access.Authenticate(token); err != nil {
				t.Errorf("other %d: %v", i, err)
			}
		}
	}
	if rows := d.PendingAudit(); rows[len(rows)-1].Action != "user.logout" || rows[len(rows)-1].TargetName != "ann" {
		t.Errorf("%+v", rows)
	}
}

// TestLogoutsOfManyPeople checks that any number of logouts succeed, and that no revoked login becomes valid.
func TestLogoutsOfManyPeople(t *testing.T) {
	t.Parallel()
	ctx, d := t.Context(), open(t, auth.Options{})
	addUser(t, d, "ann", admin)
	var first string
	for i := range 1500 {
		token, p, err := d.Issue(auth.Principal{Name: fmt.Sprint("person-", i), Kind: auth.OIDC, Grant: admin}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = token
		}
		if err := d.Logout(ctx, p); err != nil {
			t.Fatalf("logout %d: %v", i, err)
		}
		if _, err := d.Authenticate(token); err == nil {
			t.Fatalf("logout %d: still let in", i)
		}
	}
	if _, err := d.Authenticate(first); err == nil {
		t.Error("the first is let in again")
	}
}

// TestReplaceKeys checks that all logins end, and that API tokens and passwords stay valid.
func TestReplaceKeys(t *testing.T) {
	t.Parallel()
	ctx, d := t.Context(), open(t, auth.Options{})
	addUser(t, d, "ann", admin)
	login, _, err := d.Login(ctx, "ann", password, "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := d.AddToken(ctx, actor, "ci", admin, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	proof := d.Sign("test", []byte("x"))
	if err := d.ReplaceKeys(ctx, actor); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Authenticate(login); err == nil {
		t.Error("a login is still valid")
	}
	if d.Verify("test", []byte("x"), proof) {
		t.Error("a signature by the old key is accepted")
	}
	if _, err := d.Authenticate(token); err != nil {
		t.Error(err)
	}
	if _, _, err := d.Login(ctx, "ann", password, "192.0.2.1"); err != nil {
		t.Error(err)
	}
}

// TestTheLastAdminStays checks that the last admin can't be removed, unless no users and tokens are left or
// admins have other access.
func TestTheLastAdminStays(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, keep := range []bool{true, false} {
		d := open(t, auth.Options{KeepAdmin: keep})
		addUser(t, d, "ann", admin)
		addUser(t, d, "ben", viewer)
		_, demoted := d.ChangeUser(ctx, actor, "ann", viewer)
		if got := errors.Is(demoted, auth.ErrLastAdmin); got != keep || !keep && demoted != nil {
			t.Errorf("keep %v: demoted: %v", keep, demoted)
		}
		if removed := d.RemoveUser(ctx, actor, "ann"); errors.Is(removed, auth.ErrLastAdmin) != keep {
			t.Errorf("keep %v: removed: %v", keep, removed)
		}
		if err := d.RemoveUser(ctx, actor, "ben"); err != nil {
			t.Errorf("keep %v: %v", keep, err)
		}
		if keep {
			if err := d.RemoveUser(ctx, actor, "ann"); err != nil || d.State() != auth.Empty {
				t.Errorf("the last of all: %v, %v", err, d.State())
			}
		}
	}
}
