package api_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api/access"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/registry"
)

// noUsers is an access without users.
type noUsers struct{ access.Access }

func (noUsers) State() auth.State { return auth.Empty }

// accessOfOne is an access with a single token, which belongs to an admin.
type accessOfOne struct {
	access.Access
	token string
}

func oneToken(token string) access.Access { return accessOfOne{token: token} }

func (accessOfOne) State() auth.State { return auth.Closed }

func (d accessOfOne) Authenticate(token string) (auth.Principal, error) {
	if token != d.token {
		return auth.Principal{}, &auth.Refused{Code: auth.BadToken, Why: "this token is not known here"}
	}
	return auth.Principal{Name: "api-token-file", Kind: auth.TokenFile, Grant: auth.Grant{Role: auth.Admin}}, nil
}

// sharedInMemory keeps the access document of a test in memory. While fails is set, all reads and writes return it.
type sharedInMemory struct {
	mu      sync.Mutex
	value   []byte
	version int64
	fails   error
}

func (m *sharedInMemory) ReadShared(context.Context, string) (registry.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.fails != nil:
		return registry.Entry{}, m.fails
	case m.version == 0:
		return registry.Entry{}, registry.ErrNotFound
	}
	return registry.Entry{Path: "access", Value: m.value, Version: m.version}, nil
}

func (m *sharedInMemory) WriteShared(_ context.Context, name string, value []byte,
	condition registry.Condition) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails != nil {
		return 0, m.fails
	}
	if !condition.Met(m.version > 0, m.version) {
		return 0, &registry.Conflict{Path: name}
	}
	m.value = value
	m.version++
	return m.version, nil
}

func (m *sharedInMemory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = err
}

// realAccess returns an auth.Access on a document in memory, with the real clock.
func realAccess(t *testing.T, o auth.Options) *auth.Access {
	t.Helper()
	if o.Shared == nil {
		o.Shared = &sharedInMemory{}
	}
	d, err := auth.New(o)
	if err == nil {
		err = d.Refresh(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if o.Now == nil { // otherwise its copy expires after a minute, which a loaded machine may need
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { d.Run(ctx) })
		t.Cleanup(func() { stop(); running.Wait() })
	}
	return d
}

// token creates an API token.
func token(t *testing.T, d *auth.Access, name string, role auth.Role, apps ...string) string {
	t.Helper()
	text, _, err := d.AddToken(t.Context(), callerOfTests, name, auth.Grant{Role: role, Apps: apps}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// user creates a user whose password is "password of " and the name.
func user(t *testing.T, d *auth.Access, name string, role auth.Role, apps ...string) {
	t.Helper()
	if _, err := d.AddUser(t.Context(), callerOfTests, name, "password of "+name,
		auth.Grant{Role: role, Apps: apps}); err != nil {
		t.Fatal(err)
	}
}

var callerOfTests = event.Actor{Name: "test", Kind: "machine"}
