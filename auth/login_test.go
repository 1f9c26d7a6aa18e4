package auth_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/registry"
)

// TestLoginsThatAreRefused checks that all failures have the same answer.
func TestLoginsThatAreRefused(t *testing.T) {
	t.Parallel()
	d := open(t, auth.Options{})
	addUser(t, d, "ann", admin)
	var said string
	for n, c := range [][2]string{
		{"ann", "wrong password"}, {"ann", ""}, {"ann", password + " "}, {"ann", strings.ToUpper(password)}, {"ann", password + "\x00"},
		{"ann", strings.Repeat("x", 1025)}, {"ann", strings.Repeat("x", 1<<20)}, {"ann", "\xff\xfe"},
		{"Ann", password}, {"ben", password}, {"", password}, {"", ""}, {"ann ", password}, {"ann\x00", password}, {"ann\n", password},
		{strings.Repeat("a", 1<<20), password}, {"root", "root"},
	} {
		_, p, err := d.Login(t.Context(), c[0], c[1], fmt.Sprintf("10.0.%d.1", n))
		var many *auth.TooMany
		if errors.As(err, &many) { // the limit of one name, which also applies to unknown names
			continue
		}
		wantCode(t, fmt.Sprintf("%.20q %.20q", c[0], c[1]), err, auth.BadCredentials)
		if said == "" {
			said = err.Error()
		}
		if err == nil || err.Error() != said || p.Role != auth.NoRole {
			t.Errorf("%.20q: %v, want %s", c, err, said)
		}
	}
}

// TestAcceptedPasswords checks the accepted lengths and characters, and that refused passwords are not printed.
func TestAcceptedPasswords(t *testing.T) {
	t.Parallel()
	d := open(t, auth.Options{})
	addUser(t, d, "ann", admin)
	for what, c := range map[string]struct {
		password string
		accepted bool
	}{
		"nothing": {"", false}, "7 bytes": {"1234567", false}, "7 characters": {"äöüßéàç", false}, "8 characters": {"äöüßéàçñ", true}, "8 bytes": {"12345678", true},
		"1,024 bytes": {strings.Repeat("p", 1024), true}, "1,025 bytes": {strings.Repeat("p", 1025), false}, "1 MB": {strings.Repeat("p", 1<<20), false},
		"a line": {"a password\n", false}, "a zero": {"a password\x00", false}, "no UTF-8": {"a password\xff", false}, "spaces": {"        ", true},
	} {
		err := d.SetPassword(t.Context(), actor, "ann", c.password)
		var bad document.Violations
		if c.accepted != (err == nil) || !c.accepted &&
			(!errors.As(err, &bad) || bad[0].Field != "password" || bad[0].Value != "" ||
				c.password != "" && strings.Contains(err.Error(), c.password)) {
			t.Errorf("%s: %.200v", what, err)
		}
		if c.accepted {
			if err := d.CheckPassword(t.Context(), "ann", c.password, "127.0.0.1"); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

// TestBadInput checks that all violations are reported at once, and that nothing is changed.
func TestBadInput(t *testing.T) {
	t.Parallel()
	d := open(t, auth.Options{})
	ctx := t.Context()
	fields := func(err error) string {
		var bad document.Violations
		if !errors.As(err, &bad) {
			return fmt.Sprint(err)
		}
		var names []string
		for _, v := range bad {
			names = append(names, v.Field)
		}
		return strings.Join(names, " ")
	}
	_, err := d.AddUser(ctx, actor, "a\x07", "short", auth.Grant{Apps: []string{"a/b"}})
	if got := fields(err); got != "name password role apps" {
		t.Errorf("a user: %s", got)
	}
	for _, name := range []string{"", " ", "-a", ".a", "a b", "ä", "a\n", "a\x00", strings.Repeat("a", 101), "../a"} {
		if _, err := d.AddUser(ctx, actor, name, password, admin); fields(err) != "name" {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, _, err := d.AddToken(ctx, actor, "", auth.Grant{Role: auth.Metrics, Apps: []string{"a"}},
		time.Now().Add(-time.Second)); fields(err) != "name apps expires" {
		t.Errorf("a token: %v", err)
	}
	if _, err := d.ChangeUser(ctx, actor, "ann", auth.Grant{Role: 9}); fields(err) != "role" {
		t.Errorf("a role: %v", err)
	}
	_, err = d.ChangeUser(ctx, actor, "ann", admin)
	for what, err := range map[string]error{"change": err, "password": d.SetPassword(ctx, actor, "ann", password),
		"remove": d.RemoveUser(ctx, actor, "ann"), "token": d.RemoveToken(ctx, actor, "ann")} {
		if !errors.Is(err, auth.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if d.State() != auth.Empty || len(d.PendingAudit()) != 0 {
		t.Error("something was changed")
	}
	addUser(t, d, "a.b_c@d-e", admin)
	if _, err := d.AddUser(ctx, actor, "a.b_c@d-e", password, viewer); !errors.Is(err, auth.ErrExists) {
		t.Errorf("twice: %v", err)
	}
	for _, p := range []auth.Principal{{}, {Name: "x", Kind: auth.User, Grant: admin}, {Name: "x", Kind: auth.OIDC},
		{Name: "x\n", Kind: auth.OIDC, Grant: admin},
		{Name: "x", Kind: auth.OIDC, Grant: auth.Grant{Role: auth.Viewer,
			Apps: strings.Split(strings.Repeat("abcdefghijklmnopqrstuvwxyzabcdefghijklmn-*,", 80)+"a", ",")}}} {
		if token, _, err := d.Issue(p, 0); err == nil || token != "" {
			t.Errorf("issued to %.80v", p)
		}
	}
}

// TestStormOfLogins checks that 10,000 simultaneous logins are answered with few hashes and bounded memory.
func TestStormOfLogins(t *testing.T) {
	t.Parallel()
	d := open(t, auth.Options{})
	addUser(t, d, "ann", admin)
	login(t, d, "ann") // from 127.0.0.1
	var refused, many atomic.Int64
	var storm sync.WaitGroup
	for n := range 10_000 {
		storm.Go(func() {
			_, _, err := d.Login(t.Context(), fmt.Sprintf("user%d", n%500), "wrong password",
				fmt.Sprintf("10.0.%d.%d", n>>8, n&255))
			var tooMany *auth.TooMany
			switch {
			case errors.As(err, &tooMany) && tooMany.Seconds() >= 1 && tooMany.Seconds() <= 60:
				many.Add(1)
			case err != nil:
				refused.Add(1)
			default:
				t.Error("let in")
			}
		})
	}
	storm.Wait()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	if tried := refused.Load(); tried > 500*5 || tried+many.Load() != 10_000 {
		t.Errorf("%d were tried, %d were not", tried, many.Load())
	}
	if memory.Sys > 1<<30 {
		t.Errorf("%d MB", memory.Sys>>20)
	}
	await(t, "a user logs in from a known address", func() error {
		_, _, err := d.Login(t.Context(), "ann", password, "127.0.0.1")
		return err
	})
}

// TestManyServersChangeAtOnce checks that concurrent changes are each made once, with their audit rows, and that only
// servers of one registry verify each other's signatures.
func TestManyServersChangeAtOnce(t *testing.T) {
	t.Parallel()
	shared := newRegistry(t)
	const servers, each = 4, 8
	var changing sync.WaitGroup
	for n := range servers {
		changing.Go(func() {
			d, err := auth.New(auth.Options{Shared: shared})
			for i := 0; err == nil && i < each; i++ {
				_, _, err = d.AddToken(t.Context(), actor, fmt.Sprintf("token-%d-%d", n, i), viewer, time.Time{})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	changing.Wait()
	d := open(t, auth.Options{Shared: shared})
	if tokens, err := d.Tokens(); err != nil || len(tokens) != servers*each || len(d.PendingAudit()) != servers*each {
		t.Errorf("%d tokens, %d rows, %v", len(tokens), len(d.PendingAudit()), err)
	}
	other := open(t, auth.Options{Shared: shared})
	if code := d.Sign("forward", []byte("what")); !other.Verify("forward", []byte("what"), code) ||
		other.Verify("other", []byte("what"), code) || other.Verify("forward", []byte("whet"), code) ||
		other.Verify("forward", []byte("what"), nil) {
		t.Error("a server refuses the signature of another one, or accepts it for another purpose or message")
	}
	if open(t, auth.Options{}).Verify("forward", []byte("what"), d.Sign("forward", []byte("what"))) {
		t.Error("the signature of another cluster is accepted")
	}
}

// unsure is a registry whose answers to writes may be lost.
type unsure struct {
	registry.Shared
	// lose decides whether the answer to a write is lost, and if so, whether the write is done.
	lose func() (done bool, lost bool)
}

func (u unsure) WriteShared(ctx context.Context, name string, value []byte, c registry.Condition) (int64, error) {
	done, lost := u.lose()
	if lost && !done {
		return 0, fmt.Errorf("%w: no answer", registry.ErrOutcomeUnknown)
	}
	version, err := u.Shared.WriteShared(ctx, name, value, c)
	if lost {
		return 0, fmt.Errorf("%w: no answer", registry.ErrOutcomeUnknown)
	}
	return version, err
}

// TestLostAnswers checks that a change is made once, whether or not the first write succeeded.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for _, done := range []bool{true, false} {
		t.Run(fmt.Sprint("done: ", done), func(t *testing.T) {
			t.Parallel()
			shared, tries := newRegistry(t), 0
			open(t, auth.Options{Shared: shared})
			d := open(t, auth.Options{Shared: unsure{shared,
				func() (bool, bool) { tries++; return done, tries%2 == 1 }}})
			addUser(t, d, "ann", admin)
			if err := d.RemoveUser(t.Context(), actor, "ann"); err != nil {
				t.Error(err)
			}
			if n := len(d.PendingAudit()); n != 2 {
				t.Errorf("%d rows", n)
			}
		})
	}
}

// TestDocumentThatIsGone checks that a removed document gives no access and is not recreated by running servers.
func TestDocumentThatIsGone(t *testing.T) {
	t.Parallel()
	c, gone := newClock(), &absent{Shared: newRegistry(t)}
	d := open(t, auth.Options{Shared: gone, Now: c.Now})
	addUser(t, d, "ann", admin)
	gone.removed.Store(true)
	if err := d.Refresh(t.Context()); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("refresh: %v", err)
	}
	if _, err := d.AddUser(t.Context(), actor, "ben", password, admin); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("change: %v", err)
	}
	c.add(time.Minute)
	if _, err := d.Users(); d.State() != auth.Unknown || !errors.Is(err, auth.ErrUnavailable) ||
		!strings.Contains(err.Error(), "were removed from the registry") {
		t.Errorf("%v, %v", d.State(), err)
	}
	gone.removed.Store(false)
	refresh(t, d)
	if d.State() != auth.Closed {
		t.Errorf("back again: %v", d.State())
	}
}

// absent is a registry that has no document while removed is set.
type absent struct {
	registry.Shared
	removed atomic.Bool
}

func (a *absent) ReadShared(ctx context.Context, name string) (registry.Entry, error) {
	if a.removed.Load() {
		return registry.Entry{}, registry.ErrNotFound
	}
	return a.Shared.ReadShared(ctx, name)
}

// TestAnOlderDocumentIsNotTaken checks that an older document, from a lagging server or a restored copy, gives no
// access that was removed.
func TestAnOlderDocumentIsNotTaken(t *testing.T) {
	t.Parallel()
	c, behind := newClock(), &lagging{Shared: newRegistry(t)}
	d := open(t, auth.Options{Shared: behind, Now: c.Now})
	behind.keep(t)
	addUser(t, d, "ann", admin)
	behind.isBehind.Store(true)
	if err := d.Refresh(t.Context()); err == nil || d.State() != auth.Closed {
		t.Errorf("%v, %v", d.State(), err)
	}
	c.add(time.Minute)
	if _, err := d.Users(); d.State() != auth.Unknown || err == nil ||
		!strings.Contains(err.Error(), "restart the servers") {
		t.Errorf("a minute later: %v, %v", d.State(), err)
	}
	behind.isBehind.Store(false)
	refresh(t, d)
	if d.State() != auth.Closed {
		t.Errorf("caught up: %v", d.State())
	}
}

// lagging is a registry that returns the kept state while isBehind is set.
type lagging struct {
	registry.Shared
	kept     registry.Entry
	isBehind atomic.Bool
}

func (l *lagging) keep(t *testing.T) {
	t.Helper()
	e, err := l.Shared.ReadShared(t.Context(), "access")
	if err != nil {
		t.Fatal(err)
	}
	l.kept = e
}

func (l *lagging) ReadShared(ctx context.Context, name string) (registry.Entry, error) {
	if l.isBehind.Load() {
		return l.kept, nil
	}
	return l.Shared.ReadShared(ctx, name)
}
