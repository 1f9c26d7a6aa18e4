package pack_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// changing is a server whose package can be replaced, and that counts its requests.
type changing struct {
	url         string
	content     atomic.Value
	status      atomic.Int32
	asked, full atomic.Int32
}

// newChanging starts the server. With versions, each content has its own ETag.
func newChanging(t *testing.T, versions bool) *changing {
	t.Helper()
	c := &changing{}
	c.content.Store("#!one")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.asked.Add(1)
		text := c.content.Load().(string)
		if status := c.status.Load(); status != 0 {
			w.WriteHeader(int(status))
			return
		}
		if versions {
			w.Header().Set("ETag", `"`+text+`"`)
			if r.Header.Get("If-None-Match") == `"`+text+`"` {
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		c.full.Add(1)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	c.url = server.URL + "/job.sh"
	return c
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// expect gets the package and checks its content.
func expect(t *testing.T, store *pack.Store, source pack.Source, want string) {
	t.Helper()
	got, err := store.Get(context.Background(), source)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	if text, err := os.ReadFile(filepath.Join(got.Dir, "job.sh")); err != nil || string(text) != want ||
		got.SHA256 != sumOf(want) {
		t.Errorf("got %q with the sum %s, %v; want %q", text, got.SHA256, err, want)
	}
}

// limitsWith returns limits with one attempt and this interval of checks.
func limitsWith(every time.Duration) pack.Limits {
	limits := pack.Defaults()
	limits.Tries, limits.Check = 1, every
	return limits
}

// TestServerIsAskedPeriodically: a long-lived executor notices that the content of a URL has changed, and asks the
// server no more often than configured.
func TestServerIsAskedPeriodically(t *testing.T) {
	t.Parallel()
	server := newChanging(t, true)
	source := pack.Source{URL: server.url, Cache: true}
	seldom := open(t, t.TempDir(), limitsWith(time.Hour))
	often := open(t, t.TempDir(), limitsWith(time.Nanosecond))
	for range 10 {
		expect(t, seldom, source, "#!one")
	}
	if n := server.asked.Load(); n != 1 {
		t.Errorf("asked %d times within the interval", n)
	}
	for range 10 {
		expect(t, often, source, "#!one")
	}
	if asked, full := server.asked.Load(), server.full.Load(); asked != 11 || full != 2 {
		t.Errorf("asked %d times, sent %d times", asked, full)
	}
	server.content.Store("#!two")
	expect(t, seldom, source, "#!one")
	expect(t, often, source, "#!two")
	expect(t, often, source, "#!two")
	server.content.Store("#!one")
	expect(t, often, source, "#!one")
	// A package whose checksum the app names needs no check.
	before := server.asked.Load()
	source.SHA256 = sumOf("#!one")
	for range 10 {
		expect(t, often, source, "#!one")
	}
	if n := server.asked.Load() - before; n != 0 {
		t.Errorf("asked %d times for a known sum", n)
	}
}

// TestServerWithoutVersions: a server that sends no versions is asked less often, because each check fetches the
// whole package.
func TestServerWithoutVersions(t *testing.T) {
	t.Parallel()
	server := newChanging(t, false)
	source := pack.Source{URL: server.url, Cache: true}
	store := open(t, t.TempDir(), limitsWith(100*time.Millisecond))
	begun := time.Now()
	expect(t, store, source, "#!one")
	server.content.Store("#!two")
	for server.full.Load() < 2 {
		get(t, store, source)
		if time.Since(begun) > 30*time.Second {
			t.Fatal("never asked again")
		}
	}
	if took := time.Since(begun); took < 2*time.Second {
		t.Errorf("asked again after %v", took)
	}
	expect(t, store, source, "#!two")
}

// TestSilentServerIsAskedLess: a server that does not answer is asked less often than one that does.
func TestSilentServerIsAskedLess(t *testing.T) {
	t.Parallel()
	const every = 200 * time.Millisecond
	server := newChanging(t, true)
	source := pack.Source{URL: server.url, Cache: true}
	store := open(t, t.TempDir(), limitsWith(every))
	asks := func() (after time.Duration) {
		t.Helper()
		begun, before := time.Now(), server.asked.Load()
		for server.asked.Load() == before {
			expect(t, store, source, "#!one")
			if time.Since(begun) > 30*time.Second {
				t.Fatal("never asked again")
			}
		}
		return time.Since(begun)
	}
	asks()
	server.status.Store(http.StatusBadGateway)
	asks() // the server gives no answer
	if after := asks(); after < 3*every {
		t.Errorf("asked again after %v", after)
	}
}

// TestServerIsAway: while a server does not answer, a kept package is used, by the executor that has it and by the next
// one. It is not used if the server answers that it has no such package.
func TestServerIsAway(t *testing.T) {
	t.Parallel()
	server := newChanging(t, true)
	dir := t.TempDir()
	limits := limitsWith(time.Nanosecond)
	source := pack.Source{URL: server.url, Cache: true}
	first := open(t, dir, limits)
	expect(t, first, source, "#!one")
	server.status.Store(http.StatusServiceUnavailable)
	expect(t, first, source, "#!one")
	expect(t, open(t, dir, limits), source, "#!one")
	server.status.Store(http.StatusNotFound)
	var failed *pack.Error
	for _, store := range []*pack.Store{first, open(t, dir, limits)} {
		if _, err := store.Get(context.Background(), source); !errors.As(err, &failed) ||
			!strings.Contains(err.Error(), "404") {
			t.Errorf("got %v", err)
		}
	}
	server.status.Store(0)
	server.content.Store("#!two")
	expect(t, first, source, "#!two")
	// A cached package whose files were changed is never used, even if it can't be fetched again.
	server.status.Store(http.StatusServiceUnavailable)
	found, err := filepath.Glob(filepath.Join(dir, "content", sumOf("#!two")+"*", "job.sh"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if err := os.Remove(found[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Get(context.Background(), source); !errors.As(err, &failed) || !failed.Unanswered {
		t.Errorf("got %v", err)
	}
}
