package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/embedded"
	"github.com/elasticjob-go/elasticjob/registry/registrytest"
)

// childFile is an environment variable. If it is set, the test binary commits to that file until it is killed.
const childFile = "REGISTRY_TEST_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		fmt.Fprintln(os.Stderr, commitForever(path))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func TestSuite(t *testing.T) {
	t.Parallel()
	registrytest.Run(t, func(t *testing.T) registrytest.Store {
		path := filepath.Join(t.TempDir(), "registry.db")
		return registrytest.Store{Open: func(t *testing.T) registry.Registry { return open(t, path) }}
	})
}

func open(t testing.TB, path string) *embedded.Registry {
	t.Helper()
	r, err := embedded.Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func lead(t testing.TB, path string) (*embedded.Registry, registry.Term) {
	t.Helper()
	r := open(t, path)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	term, err := r.Campaign(t.Context(), "127.0.0.1:8899")
	if err != nil {
		t.Fatal(err)
	}
	return r, term
}

// bigEntries is the number of 100 kB entries in each commit of commitForever.
const bigEntries = 6

// commitForever makes commits of several entries and prints the number of each commit once it is acknowledged.
func commitForever(path string) error {
	r, err := embedded.Open(path, nil)
	if err != nil {
		return err
	}
	ctx := context.Background()
	term, err := r.Campaign(ctx, "127.0.0.1:1234")
	if err != nil {
		return err
	}
	before, err := term.List(ctx, "/n")
	if err != nil {
		return err
	}
	fmt.Println("began")
	for n := len(before); ; n++ {
		number := strconv.Itoa(n)
		writes := []registry.Write{{Path: fmt.Sprintf("/n/%08d", n), Value: []byte(strings.Repeat(number+" ", 100)),
			If: registry.Absent()}}
		for i := range bigEntries {
			writes = append(writes, registry.Write{Path: fmt.Sprintf("/big/%d", i),
				Value: fmt.Appendf(nil, "%-100000s", number)})
		}
		err := term.Commit(ctx, append(writes, registry.Write{Path: "/last", Value: []byte(number)}))
		if err != nil {
			return err
		}
		fmt.Println(number)
	}
}

// child is a process that runs commitForever.
type child struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startChild(t *testing.T, path string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childFile+"="+path)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: cmd, lines: bufio.NewScanner(out)}
	t.Cleanup(func() { c.kill() })
	if got := c.line(); got != "began" {
		t.Fatalf("the child said %q", got)
	}
	return c
}

func (c *child) line() string {
	c.lines.Scan()
	return c.lines.Text()
}

// kill kills the process with signal 9 and returns the last complete line of its output.
func (c *child) kill() (last string) {
	_ = c.cmd.Process.Kill()
	for c.lines.Scan() {
		last = c.lines.Text()
	}
	_ = c.cmd.Wait()
	return last
}

func TestKillLosesNoAcknowledgedCommit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "registry.db")
	acknowledged := -1
	for round := range 8 {
		c := startChild(t, path)
		for range 5 + 13*round {
			n, err := strconv.Atoi(c.line())
			if err != nil {
				t.Fatal(err)
			}
			acknowledged = n
		}
		if n, err := strconv.Atoi(c.kill()); err == nil {
			acknowledged = max(acknowledged, n)
		}
		r := open(t, path)
		term, err := r.Campaign(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		found, err := term.List(t.Context(), "/n")
		if err != nil {
			t.Fatal(err)
		}
		// One more commit may have been made whose number was not printed.
		if len(found) != acknowledged+1 && len(found) != acknowledged+2 {
			t.Errorf("%d commits are there, the last acknowledged one is number %d", len(found), acknowledged)
		}
		for n, e := range found {
			if e.Path != fmt.Sprintf("/n/%08d", n) || string(e.Value) != strings.Repeat(strconv.Itoa(n)+" ", 100) {
				t.Fatalf("commit %d is there as %s: %q", n, e.Path, e.Value)
			}
		}
		last, err := term.Get(t.Context(), "/last")
		if err != nil || string(last.Value) != strconv.Itoa(len(found)-1) {
			t.Errorf("half of a commit is there: /last is %q (%v) with %d commits", last.Value, err, len(found))
		}
		big, err := term.List(t.Context(), "/big")
		if err != nil || len(big) != bigEntries {
			t.Errorf("half of a commit is there: %d of %d entries (%v)", len(big), bigEntries, err)
		}
		for _, e := range big {
			if got := strings.TrimSpace(string(e.Value)); got != string(last.Value) {
				t.Errorf("half of a commit is there: %s is %s, /last is %s", e.Path, got, last.Value)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSecondProcessIsToldWhoHoldsTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "registry.db")
	held := func(pid int) {
		t.Helper()
		_, err := embedded.Open(path, nil)
		var inUse *embedded.InUse
		if !errors.As(err, &inUse) || inUse.PID != pid || !strings.Contains(err.Error(), path) {
			t.Fatalf("got %v (%+v), want that process %d holds it", err, inUse, pid)
		}
	}
	first := startChild(t, path)
	held(first.cmd.Process.Pid)
	first.kill()
	if _, err := os.Stat(path + ".holder"); err != nil {
		t.Fatalf("a killed process leaves its holder file: %v", err)
	}
	second := startChild(t, path)
	held(second.cmd.Process.Pid)
	if err := os.WriteFile(path+".holder", []byte("no number"), 0o600); err != nil {
		t.Fatal(err)
	}
	held(0)
	second.kill()

	r := open(t, path)
	held(os.Getpid())
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + ".holder"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the holder file is still there: %v", err)
	}
}

func TestFileIsPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "state", "registry.db")
	lead(t, path)
	for name, want := range map[string]fs.FileMode{path: 0o600, path + ".holder": 0o600,
		filepath.Dir(path): fs.ModeDir | 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, error %v, want %v", name, info.Mode(), err, want)
		}
	}
}

func TestDamagedFileIsRefused(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(whole []byte) []byte{
		"not a registry": func(whole []byte) []byte { return []byte(strings.Repeat("hello ", 5000)) },
		"cut short":      func(whole []byte) []byte { return whole[:8192] },
		"a few bytes":    func(whole []byte) []byte { return whole[:100] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "registry.db")
			r := open(t, path)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(whole), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				r, err := embedded.Open(path, nil)
				if err == nil {
					_ = r.Close()
					t.Fatal("a damaged file was opened")
				}
				if !strings.Contains(err.Error(), path) || errors.As(err, new(*embedded.InUse)) {
					t.Errorf("got %q, want what is wrong with %s", err, path)
				}
			}
		})
	}
}

func TestOneTermPerRegistry(t *testing.T) {
	t.Parallel()
	r, old := lead(t, filepath.Join(t.TempDir(), "registry.db"))
	if _, err := r.Campaign(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	if _, err := old.List(t.Context(), "/"); !errors.Is(err, registry.ErrTermEnded) {
		t.Errorf("list: got %v, want %v", err, registry.ErrTermEnded)
	}
	if _, err := old.Get(t.Context(), "/a"); !errors.Is(err, registry.ErrTermEnded) {
		t.Errorf("get: got %v, want %v", err, registry.ErrTermEnded)
	}
}

func fill(t testing.TB, term registry.Term, entries int) {
	t.Helper()
	value := []byte(strings.Repeat("x", 300))
	for n := 0; n < entries; n += 1000 {
		var writes []registry.Write
		for i := range 1000 {
			writes = append(writes, registry.Write{Path: fmt.Sprintf("/state/execution/%06d", n+i), Value: value})
		}
		if err := term.Commit(t.Context(), writes); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, filled := range []int{0, 100_000} {
		for _, writes := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%d writes beside %d", writes, filled), func(b *testing.B) {
				_, term := lead(b, filepath.Join(b.TempDir(), "registry.db"))
				fill(b, term, filled)
				value := []byte(strings.Repeat("y", 300))
				n := 0
				for b.Loop() {
					var commit []registry.Write
					for range writes {
						commit = append(commit,
							registry.Write{Path: fmt.Sprintf("/state/execution/%06d", n*7919%100_000), Value: value})
						n++
					}
					if err := term.Commit(b.Context(), commit); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkList100000(b *testing.B) {
	_, term := lead(b, filepath.Join(b.TempDir(), "registry.db"))
	fill(b, term, 100_000)
	for b.Loop() {
		if found, err := term.List(b.Context(), "/state/execution"); err != nil || len(found) != 100_000 {
			b.Fatal(len(found), err)
		}
	}
}

func BenchmarkOpenWith100000(b *testing.B) {
	path := filepath.Join(b.TempDir(), "registry.db")
	r := open(b, path)
	term, err := r.Campaign(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	fill(b, term, 100_000)
	for b.Loop() {
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
		r = open(b, path)
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
}
