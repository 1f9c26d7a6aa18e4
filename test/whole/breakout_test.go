package whole_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// breakout is a server whose jobs try to access what they must not reach.
type breakout struct {
	*system.Machine
	t    *testing.T
	home string // the folder with the data folder, the server's programs and file
	file string // a configuration file, which is hidden from jobs
}

// TestAJobStaysInItsNamespace: a job of the server's own user cannot replace the folders that lead to hidden files,
// make the executor follow links to them, change the program of other executors, or replace the programs that the
// next start executes. The secrets that the executor reads for the job stay hidden.
//
// As root the test runs with two users. One is nobody: in a user namespace, the kernel shows nobody as the owner of the
// files of all users that are not mapped there, such as root's files.
func TestAJobStaysInItsNamespace(t *testing.T) {
	t.Parallel()
	const ordinary = 60577
	users := []int{nobody, ordinary}
	if os.Geteuid() != 0 {
		users = []int{os.Geteuid()}
	}
	for _, user := range users {
		t.Run(strconv.Itoa(user), func(t *testing.T) {
			t.Parallel()
			b := newBreakout(t, user, user)
			if strings.Contains(b.ServerLog(), "data folder not hidden") {
				t.Fatalf("the kernel has no user namespaces for this user; the server says so:\n%s", b.ServerLog())
			}
			b.attack()
		})
	}
}

// TestAsRootAJobOfAnotherUserChangesNothing is the same test for a job whose user is not the server's.
func TestAsRootAJobOfAnotherUserChangesNothing(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("this needs root: make ci ONLY=root runs it")
	}
	newBreakout(t, 0, 0, "--run-as", "nobody").attack()
}

// TestAsRootAFolderThatJobsCanMoveIsRefused: if the jobs' user can rename the data folder or one of its parents, the
// server does not start.
func TestAsRootAFolderThatJobsCanMoveIsRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("this needs root: make ci ONLY=root runs it")
	}
	m := system.New(t, bin)
	home := t.TempDir()
	open := filepath.Join(home, "open")
	if err := errors.Join(os.Mkdir(open, 0o755), os.Chmod(home, 0o755),
		os.Chmod(filepath.Dir(home), 0o755)); err != nil {
		t.Fatal(err)
	}
	m.Dir = filepath.Join(open, "above", "data")
	for name, c := range map[string]struct {
		mode  os.FileMode
		owner int
		args  []string
		want  string
	}{
		"owned by the jobs' user": {0o755, nobody, []string{"--run-as", "nobody"}, "user nobody could move"},
		"writable for all users":  {0o777, 0, nil, "could move"},
	} {
		if err := errors.Join(os.Chown(open, c.owner, c.owner), os.Chmod(open, c.mode)); err != nil {
			t.Fatal(err)
		}
		status, said := m.Fails(withoutRunAs(m.Command(c.args...)))
		if status != 1 || !strings.Contains(said, c.want) || !strings.Contains(said, open) {
			t.Errorf("%s: status %d, %s, want %q", name, status, said, c.want)
		}
	}
}

// newBreakout starts a server. If the test runs as root, the server runs as user, and the folders around its data
// folder belong to owner.
func newBreakout(t *testing.T, user, owner int, args ...string) breakout {
	m := system.New(t, bin)
	b := breakout{Machine: m, t: t, home: t.TempDir()}
	m.Dir = filepath.Join(b.home, "above", "data")
	b.file = filepath.Join(b.home, "conf", "config.properties")
	given := filepath.Join(m.Dir, "secrets", "given")
	err := errors.Join(os.MkdirAll(filepath.Dir(given), 0o700), os.Chmod(m.Dir, 0o700),
		os.Chmod(filepath.Dir(m.Dir), 0o755), os.Mkdir(filepath.Dir(b.file), 0o755),
		os.WriteFile(b.file, []byte("# secrets\n"), 0o600), os.WriteFile(given, []byte("hush"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	cmd := m.Command(append(args, "--config", b.file)...)
	programs := filepath.Join(b.home, "programs") // the job must not be able to replace programs here
	cmd.Path = filepath.Join(programs, "scheduler")
	err = errors.Join(os.Mkdir(programs, 0o755), os.Link(bin.Scheduler(), cmd.Path),
		os.Link(filepath.Join(bin.Dir, "executor"), filepath.Join(programs, "executor")))
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		startAs(t, cmd, user, m.Dir, b.file, m.LedgerPath)
		for _, path := range []string{
			b.home, filepath.Dir(m.Dir), filepath.Dir(given), given, filepath.Dir(b.file), programs,
		} {
			if err := os.Chown(path, owner, owner); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.LaunchCommand(cmd)
	m.Ready()
	program, err := os.ReadFile("testdata/breaker.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, app := range []string{"breaker", "linker", "neighbour"} {
		m.App(app, system.Files{"bin/start.sh": script("true"), "bin/breaker.py": string(program)}, nil)
		m.Job("honest-"+app, app, nil)
	}
	m.Run("honest-breaker", "FINISHED") // now all files of the server exist
	return b
}

// run runs an attack and returns its execution.
func (b breakout) run(app, attack string) system.Execution {
	b.t.Helper()
	given := map[string]string{"fromFile": filepath.Join(b.Dir, "secrets", "given")}
	b.Job(attack, app, system.Doc{"props": env("script.command.line", "bin/breaker.py "+attack), "env": map[string]any{
		"BREAKER_DIR": b.Dir, "BREAKER_HOME": b.home, "BREAKER_FILE": b.file, "GIVEN": given}})
	return b.Run(attack, "FINISHED", "FAILED")
}

func (b breakout) attack() {
	b.t.Helper()
	before := b.entries()
	for _, attack := range []string{"secrets", "move"} {
		said := b.Logs(b.run("breaker", attack).Shards[0].TaskID, "")
		for line := range strings.Lines(said) {
			if what, found := strings.CutPrefix(strings.TrimSpace(line), "GOT "); found {
				b.t.Errorf("the job got: %s", what)
			}
		}
		for _, want := range []string{"SECRET hush", "DONE"} {
			if !strings.Contains(said, want) {
				b.t.Fatalf("%s: the job's output lacks %q:\n%s", attack, want, said)
			}
		}
	}
	b.run("linker", "link")
	for range 2 {
		b.Run("honest-linker", "FINISHED", "FAILED") // by an executor whose folders the attack has replaced by links
	}
	b.expect("links were followed", before)

	b.Job("overwrite", "breaker", system.Doc{"props": env("script.command.line", "bin/breaker.py overwrite"),
		"env": env("BREAKER_DIR", b.Dir, "BREAKER_HOME", b.home, "BREAKER_FILE", b.file)})
	b.Trigger("overwrite")
	if b.canWrite() {
		b.Until("the job has attacked", func() string {
			if _, err := os.Stat(filepath.Join(b.home, "attacked")); err != nil {
				return err.Error()
			}
			return ""
		})
	}
	b.OK("POST", "/api/job/overwrite/disable", "")
	b.Run("honest-neighbour", "FINISHED", "FAILED")
	for _, name := range []string{"evil", "stolen"} {
		if _, err := os.Stat(filepath.Join(b.home, name)); err == nil {
			b.t.Errorf("a program of the job was executed outside it: there is %s", name)
		}
	}
	b.Stop()
	b.expect("after the end", before)
}

// canWrite reports whether jobs can write to the home folder: they can if they run as the server's own user.
func (b breakout) canWrite() bool {
	info, err := os.Stat(b.home)
	if err != nil {
		b.t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Uid != 0
}

// entries returns the names in the data folder and in two of its folders.
func (b breakout) entries() map[string]bool {
	b.t.Helper()
	names := map[string]bool{}
	for _, folder := range []string{"", "artifacts", "secrets"} {
		found, err := os.ReadDir(filepath.Join(b.Dir, folder))
		if err != nil {
			b.t.Fatal(err)
		}
		for _, e := range found {
			names[filepath.Join(folder, e.Name())] = true
		}
	}
	return names
}

// expect checks that no entry was added or removed since before, except for files that the server adds and removes
// itself. what begins the error.
func (b breakout) expect(what string, before map[string]bool) {
	b.t.Helper()
	now := b.entries()
	for name := range now {
		if !before[name] && !strings.HasPrefix(name, "registry.db") && !strings.HasPrefix(name, "history") {
			b.t.Errorf("%s: the data folder has the new entry %s", what, name)
		}
	}
	for name := range before {
		isTemporary := strings.HasSuffix(name, ".holder") || strings.HasSuffix(name, ".sock") ||
			strings.HasPrefix(name, "history")
		if !now[name] && !isTemporary {
			b.t.Errorf("%s: the data folder lacks %s", what, name)
		}
	}
}
