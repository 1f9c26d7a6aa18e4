package datafolder

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// openAll creates a folder that all users can reach.
func openAll(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAsRootAUserIsChosenForJobs: with --local, root's server chooses an unused user id for jobs and keeps it, or
// runs jobs as root if that is not possible. The log says which.
func TestAsRootAUserIsChosenForJobs(t *testing.T) { // not parallel, because it changes the umask
	if os.Geteuid() != 0 {
		t.Skip("this needs root: make ci ONLY=root runs it")
	}
	var said strings.Builder
	log := slog.New(slog.NewTextHandler(&said, nil))
	choose := func(o Options) string {
		t.Helper()
		said.Reset()
		o.Logger = log
		runAs, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		return runAs
	}
	before := syscall.Umask(0o077)
	defer syscall.Umask(before)

	dir := filepath.Join(openAll(t), "data")
	chosen := choose(Options{Local: true, Dir: dir})
	account, ok := isolation.ParseIDs(chosen)
	says := strings.Contains(said.String(), chosen) && strings.Contains(said.String(), "--run-as")
	if !ok || !account.IsUnshared() || !says {
		t.Fatalf("it chose %q, and says %s", chosen, &said)
	}
	if err := os.MkdirAll(filepath.Join(dir, "cluster", "work"), 0o711); err != nil {
		t.Fatal(err)
	}
	if err := account.CheckEntry(filepath.Join(dir, "cluster", "work")); err != nil {
		t.Errorf("with a umask that closes folders: %v", err)
	}
	if again := choose(Options{Local: true, Dir: dir}); again != chosen {
		t.Errorf("the next server chose %s, and the first one %s", again, chosen)
	}
	for _, c := range []Options{{Local: true, Dir: dir, RunAs: "nobody"}, {Dir: dir}} {
		if got := choose(c); got != c.RunAs || said.Len() > 0 {
			t.Errorf("as %q: it chose %q, and says %s", c.RunAs, got, &said)
		}
	}

	t.Run("ids that were assigned since", func(t *testing.T) {
		if err := os.WriteFile(userFile(dir), []byte("65534:65534\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := choose(Options{Local: true, Dir: dir}); got != chosen {
			t.Errorf("it chose %s, want %s", got, chosen)
		}
	})
	t.Run("a folder that is closed", func(t *testing.T) {
		closed := t.TempDir()
		if err := os.Chmod(closed, 0o700); err != nil {
			t.Fatal(err)
		}
		got := choose(Options{Local: true, Dir: filepath.Join(closed, "data")})
		for _, want := range []string{"level=WARN", "jobs run as root", "can't enter /", "--run-as USER"} {
			if got != "root" || !strings.Contains(said.String(), want) {
				t.Errorf("it chose %q, and says %s, which lacks %q", got, &said, want)
			}
		}
	})
	t.Run("missing folders above", func(t *testing.T) {
		syscall.Umask(0o022)
		deep := filepath.Join(openAll(t), "new", "data")
		if got := choose(Options{Local: true, Dir: deep}); got == "root" {
			t.Errorf("it says %s", &said)
		}
	})
}

// TestSecretsOfJobsAreClosed: jobs of another user can pass through the data folder, so a secrets folder that was
// created with open permissions must be closed.
func TestSecretsOfJobsAreClosed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode os.FileMode // 0 if the folder does not exist
		says bool
	}{
		"missing":            {},
		"closed":             {mode: 0o700},
		"closed to changes":  {mode: 0o500},
		"open":               {mode: 0o755, says: true},
		"open to be entered": {mode: 0o711, says: true},
		"open to the group":  {mode: 0o750, says: true},
	} {
		dir := t.TempDir()
		folder := filepath.Join(dir, "secrets")
		if c.mode != 0 {
			if err := errors.Join(os.Mkdir(folder, 0o700), os.Chmod(folder, c.mode)); err != nil {
				t.Fatal(err)
			}
		}
		var said strings.Builder
		options := Options{Local: true, RunAs: strconv.Itoa(os.Geteuid()), Dir: dir,
			Logger: slog.New(slog.NewTextHandler(&said, nil))}
		if _, err := Open(options); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: it is %v, %v", name, info, err)
		}
		if says := strings.Contains(said.String(), folder); says != c.says {
			t.Errorf("%s: it says %q", name, &said)
		}
	}
}
