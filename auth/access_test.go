package auth_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const password = "correct horse battery staple"

var actor = event.Actor{Name: "root", Kind: "machine", From: "127.0.0.1"}

// clock is a clock that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 23, 4, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newRegistry(t testing.TB) registry.Shared {
	t.Helper()
	r, err := embedded.Open(filepath.Join(t.TempDir(), "registry.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// open creates an Access that has read the document once.
func open(t testing.TB, o auth.Options) *auth.Access {
	t.Helper()
	if o.Shared == nil {
		o.Shared = newRegistry(t)
	}
	d, err := auth.New(o)
	if err != nil {
		t.Fatal(err)
	}
	refresh(t, d)
	return d
}

func refresh(t testing.TB, d *auth.Access) {
	t.Helper()
	if err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func addUser(t testing.TB, d *auth.Access, name string, g auth.Grant) {
	t.Helper()
	if _, err := d.AddUser(t.Context(), actor, name, password, g); err != nil {
		t.Fatal(err)
	}
}

func login(t testing.TB, d *auth.Access, name string) (string, auth.Principal) {
	t.Helper()
	token, p, err := d.Login(t.Context(), name, password, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return token, p
}

func wantCode(t testing.TB, what string, err error, code string) {
	t.Helper()
	var refused *auth.Refused
	if !errors.As(err, &refused) || refused.Code != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

var admin, viewer = auth.Grant{Role: auth.Admin}, auth.Grant{Role: auth.Viewer, Apps: []string{"billing-*"}}

// TestStates checks that no authentication is needed without users and tokens, and that Authenticate fails with a
// stale copy.
func TestStates(t *testing.T) {
	t.Parallel()
	c, shared := newClock(), newRegistry(t)
	d, err := auth.New(auth.Options{Shared: shared, Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.State(); got != auth.Unknown {
		t.Errorf("before the first read: %v", got)
	}
	if _, err := d.Authenticate("anything"); !errors.Is(err, auth.ErrUnavailable) {
		t.Errorf("before the first read: %v", err)
	}
	refresh(t, d)
	if got := d.State(); got != auth.Empty {
		t.Errorf("without users: %v", got)
	}
	addUser(t, d, "ann", admin)
	token, _ := login(t, d, "ann")
	if got := d.State(); got != auth.Closed {
		t.Errorf("with a user: %v", got)
	}
	c.add(time.Minute)
	if got := d.State(); got != auth.Unknown {
		t.Errorf("not read for a minute: %v", got)
	}
	if _, err := d.Authenticate(token); !errors.Is(err, auth.ErrUnavailable) {
		t.Errorf("not read for a minute: %v", err)
	}
	refresh(t, d)
	if _, err := d.Authenticate(token); err != nil {
		t.Errorf("read again: %v", err)
	}
	if err := d.RemoveUser(t.Context(), actor, "ann"); err != nil {
		t.Fatal(err)
	}
	if got := d.State(); got != auth.Empty {
		t.Errorf("without users again: %v", got)
	}
}

// TestRunSeesWhatOthersChange checks several servers and commands on one registry.
func TestRunSeesWhatOthersChange(t *testing.T) {
	t.Parallel()
	shared := newRegistry(t)
	server, command := open(t, auth.Options{Shared: shared}), open(t, auth.Options{Shared: shared})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { server.Run(ctx) })
	defer running.Wait()
	defer stop()
	addUser(t, command, "ann", viewer)
	token, p := login(t, command, "ann")
	if p.Name != "ann" || p.Kind != auth.User || p.Role != auth.Viewer || !p.Covers("billing-x") ||
		p.Covers("other") || p.Session == "" {
		t.Errorf("logged in as %+v", p)
	}
	await(t, "the server takes the login", func() error {
		got, err := server.Authenticate(token)
		if err == nil && fmt.Sprint(got) != fmt.Sprint(p) {
			t.Errorf("got %+v, want %+v", got, p)
		}
		return err
	})
	if err := command.RemoveUser(t.Context(), actor, "ann"); err != nil {
		t.Fatal(err)
	}
	await(t, "the server refuses the login", func() error {
		if _, err := server.Authenticate(token); err == nil {
			return errors.New("it does")
		}
		return nil
	})
}

func await(t testing.TB, what string, try func() error) {
	t.Helper()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	deadline := time.After(30 * time.Second)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// TestAuditRows checks that each change adds an audit row in the same write, and that a leader takes the rows.
func TestAuditRows(t *testing.T) {
	t.Parallel()
	d := open(t, auth.Options{})
	ctx := t.Context()
	addUser(t, d, "ann", viewer)
	if _, err := d.ChangeUser(ctx, actor, "ann", viewer); err != nil { // changes nothing
		t.Fatal(err)
	}
	if _, err := d.ChangeUser(ctx, actor, "ann", admin); err != nil {
		t.Fatal(err)
	}
	if err := d.SetPassword(ctx, actor, "ann", password+"!"); err != nil {
		t.Fatal(err)
	}
	secret, _, err := d.AddToken(ctx, actor, "ci", viewer, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.RemoveToken(ctx, actor, "ci"), d.RemoveUser(ctx, actor, "ann")); err != nil {
		t.Fatal(err)
	}
	rows := d.PendingAudit()
	want := []string{
		`user.add user ann "" {"role":"viewer","apps":["billing-*"]}`,
		`user.update user ann {"role":"viewer","apps":["billing-*"]} {"role":"admin"}`,
		`user.password user ann "" ""`,
		`token.add token ci "" {"role":"viewer","apps":["billing-*"]}`,
		`token.remove token ci {"role":"viewer","apps":["billing-*"]} ""`,
		`user.remove user ann {"role":"admin"} ""`,
	}
	var ids []string
	for i, row := range rows {
		ids = append(ids, row.ID)
		text := func(s string) string {
			if s == "" {
				return `""`
			}
			return s
		}
		got := fmt.Sprintf("%s %s %s %s %s", row.Action, row.Target, row.TargetName, text(row.Before), text(row.After))
		if i >= len(want) || got != want[i] || row.Actor != actor || row.ID == "" || row.Time.IsZero() {
			t.Errorf("row %d: %+v", i, row)
		}
	}
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(rows), len(want))
	}
	if text := fmt.Sprintf("%+v", rows); contains(text, secret, password) {
		t.Errorf("a secret is in %s", text)
	}
	if err := d.TakeAudit(ctx, slices.Concat(ids[:2], []string{"unknown"})); err != nil {
		t.Fatal(err)
	}
	if left := d.PendingAudit(); len(left) != len(want)-2 || left[0].ID != ids[2] {
		t.Errorf("left: %+v", left)
	}
	if err := d.TakeAudit(ctx, ids[:2]); err != nil { // again, as after a lost answer
		t.Fatal(err)
	}
}
