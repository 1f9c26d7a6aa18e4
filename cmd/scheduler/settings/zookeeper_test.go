package settings

import (
	"testing"
	"time"
)

func TestRegistryRoot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ZooKeeper
		want string
	}{
		{ZooKeeper{namespace: "n"}, ""},
		{ZooKeeper{Servers: "h:1,h2:2", namespace: "n"}, "/n"},
		{ZooKeeper{Servers: "h:1,h2:2/some/folder", namespace: "/n/m/"}, "/some/folder/n/m"},
	} {
		if got := c.Root(); got != c.want {
			t.Errorf("%q %q: %q, want %q", c.Servers, c.namespace, got, c.want)
		}
	}
}

// TestSessionsEndInTime checks the requested timeouts: with ZooKeeper's default tick of 2 s, a session ends at most one
// second after the given time.
func TestSessionsEndInTime(t *testing.T) {
	t.Parallel()
	for given, want := range map[time.Duration]time.Duration{
		10 * time.Second: 8500 * time.Millisecond, time.Minute: 58500 * time.Millisecond,
		5 * time.Second: 4 * time.Second,
		4 * time.Second: 4 * time.Second, 2 * time.Second: 2 * time.Second, // a server with shorter ticks grants it
	} {
		if got := (&ZooKeeper{timeout: given}).sessionTimeout(); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
}
