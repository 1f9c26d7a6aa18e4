package database

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/registrytest"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
)

var shared mariadb.Shared

func TestMain(m *testing.M) {
	// A random operation takes milliseconds here, so run fewer of them.
	flag.Parse()
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(shared.Main(m))
}

// eventTimeout is how long a test waits for an expected event.
const eventTimeout = 60 * time.Second

// lease is long enough for a busy machine.
const lease = 6 * time.Second

func logger() *slog.Logger {
	if os.Getenv("REGISTRY_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func open(t testing.TB, o Options) *Registry {
	t.Helper()
	if o.Lease == 0 {
		o.Lease = lease
	}
	if o.Logger == nil {
		o.Logger = logger()
	}
	r, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

func elect(t testing.TB, r registry.Registry, who string) *term {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), eventTimeout)
	defer cancel()
	led, err := r.Campaign(ctx, who)
	if err != nil {
		t.Fatalf("campaign: %v", err)
	}
	return led.(*term)
}

func lead(t testing.TB, o Options) (*Registry, *term) {
	t.Helper()
	r := open(t, o)
	return r, elect(t, r, "127.0.0.1:8899")
}

// free releases the lease, as if it had expired.
func free(t testing.TB, dsn string) {
	t.Helper()
	change(t, dsn, "UPDATE REGISTRY_LEASE SET holder = '', renewals = renewals + 1")
}

// change changes the tables in a way that no registry does. It may be called from another goroutine than the test's.
func change(t testing.TB, dsn string, statements ...string) {
	t.Helper()
	s, err := newStore(Options{DSN: dsn})
	if err != nil {
		t.Error(err)
		return
	}
	defer s.close()
	for _, statement := range statements {
		if _, err := s.db.Exec(statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	server := shared.Server(t)
	registrytest.Run(t, func(t *testing.T) registrytest.Store {
		o := Options{DSN: server.Database(t), Lease: lease, Logger: logger()}
		return registrytest.Store{
			Open: func(t *testing.T) registry.Registry {
				r, err := Open(o)
				if err != nil {
					t.Fatal(err)
				}
				return r
			},
			Depose: func(t *testing.T, _ registry.Registry) registry.Term {
				other := open(t, o)
				free(t, o.DSN)
				return elect(t, other, "127.0.0.1:9988")
			},
			Cut: func(t *testing.T) (registry.Registry, func(int, bool) <-chan struct{}) {
				wires := &cable{}
				with := o
				with.Dial = wires.dial
				return open(t, with), func(n int, arrives bool) <-chan struct{} {
					struck, freed := wires.arm(n, arrives), make(chan struct{})
					go func() {
						defer close(freed)
						select {
						case <-struck:
							free(t, o.DSN)
						case <-t.Context().Done():
						}
					}()
					return freed
				}
			},
		}
	})
}

func write(path, value string) registry.Write {
	return registry.Write{Path: path, Value: []byte(value)}
}

func commit(t testing.TB, term registry.Term, writes ...registry.Write) {
	t.Helper()
	if err := term.Commit(t.Context(), writes); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

func wantValue(t testing.TB, term registry.Term, path, want string) {
	t.Helper()
	e, err := term.Get(t.Context(), path)
	if err != nil || string(e.Value) != want {
		t.Fatalf("%s is %.80q, %v; want %q", path, e.Value, err, want)
	}
}
