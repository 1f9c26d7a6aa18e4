package whole_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

const nobody = 65534

// TestAJobSeesNothingOfTheSameUsersServer: a job of the server's own user can access nothing that runThief tries to
// access. If root runs the test, the server runs as another user.
func TestAJobSeesNothingOfTheSameUsersServer(t *testing.T) {
	t.Parallel()
	m, said := runThief(t, nobody)
	if warned := strings.Contains(m.ServerLog(), "data folder not hidden"); warned {
		t.Fatalf("the kernel has no user namespaces for this user; the server says so:\n%s", m.ServerLog())
	}
	if len(said) > 0 {
		t.Errorf("the job got:\n%s", strings.Join(said, "\n"))
	}
}

// TestProcessesAreClosedIfFilesAreNotHidden: even if the data folder is not hidden, a job of the same user cannot access
// the processes of the server.
func TestProcessesAreClosedIfFilesAreNotHidden(t *testing.T) {
	t.Parallel()
	_, said := runThief(t, nobody, "--hide-data=false")
	files := 0
	for _, what := range said {
		if strings.HasPrefix(what, "file ") {
			files++
		} else if what == "the socket" {
			// The socket is in the data folder, and the server cannot distinguish the job from its own user.
		} else if !strings.HasPrefix(what, "change of ") && !strings.HasPrefix(what,
			"removal of ") && !strings.HasPrefix(what, "a file in ") {
			t.Errorf("the job got: %s", what)
		}
	}
	if files == 0 {
		t.Error("the job got no file even without hiding, so the tests with hidden folders prove nothing")
	}
}

// TestAsRootAJobOfAnotherUserSeesNothing is TestAJobSeesNothingOfTheSameUsersServer for a server of root whose jobs run
// as another user. A flag names this user, or the server chooses it.
func TestAsRootAJobOfAnotherUserSeesNothing(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("this needs root: make ci ONLY=root runs it")
	}
	for name, args := range map[string][]string{"named": {"--run-as", "nobody"}, "chosen": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, said := runThief(t, 0, args...)
			if len(said) > 0 {
				t.Errorf("the job got:\n%s", strings.Join(said, "\n"))
			}
			if chosen := strings.Contains(m.ServerLog(), "job user chosen"); chosen != (args == nil) {
				t.Errorf("a user was chosen: %t; the server's log is:\n%s", chosen, m.ServerLog())
			}
		})
	}
}

// runThief runs a job that tries to access the server, its executor and supervisor through /proc, ptrace and
// descriptors, each file in the data folder that is not the job's, files that the server's flags name, and the APIs of
// master and agent. It returns what the job could access. If root runs the test, the server runs as user.
func runThief(t *testing.T, user int, args ...string) (m *system.Machine, got []string) {
	t.Helper()
	m = system.New(t, bin)
	config := filepath.Join(t.TempDir(), "config.properties") // stands for any file that a flag names
	if err := os.WriteFile(config, []byte("# secrets\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := m.Command(append(args, "--config", config)...)
	if os.Geteuid() == 0 {
		startAs(t, cmd, user, m.Dir, config, m.LedgerPath)
	}
	m.LaunchCommand(cmd)
	m.Ready()
	program, err := os.ReadFile("testdata/thief.py")
	if err != nil {
		t.Fatal(err)
	}
	m.App("thief", system.Files{"bin/start.sh": script("true"), "bin/thief.py": string(program)}, nil)
	m.Job("honest", "thief", nil)
	m.Run("honest", "FINISHED") // now the executor runs, and all files exist
	m.Job("thief", "thief", system.Doc{"props": env("script.command.line", "bin/thief.py"), "env": env(
		"THIEF_DIR", m.Dir, "THIEF_FILES", inJSON(t, append(serverFiles(t, m), config)), "THIEF_PORTS", ports(t, m))})
	e := m.Run("thief", "FINISHED", "FAILED")
	text := m.Logs(e.Shards[0].TaskID, "")
	for _, want := range []string{"SAW server", "SAW executor", "SAW supervisor", "ANSWER /api/v1 401",
		"ANSWER /api/v1/executor 401", "DONE"} {
		if !strings.Contains(text, want) {
			t.Fatalf("the job's output lacks %q: %+v\n%s", want, e, text)
		}
	}
	for line := range strings.Lines(text) {
		if what, found := strings.CutPrefix(strings.TrimSpace(line), "GOT "); found {
			got = append(got, what)
		}
	}
	return m, got
}

// startAs makes a server's command run as a user, who then owns the paths and can reach them. Only root can do this.
func startAs(t *testing.T, cmd *exec.Cmd, user int, paths ...string) {
	t.Helper()
	withoutRunAs(cmd)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}}
	errs := []error{os.Chmod(bin.Dir, 0o755)}
	for _, path := range paths {
		// The loop ends before the temporary folder of the whole machine.
		for folder := filepath.Dir(path); strings.HasPrefix(folder, os.TempDir()+"/"); folder = filepath.Dir(folder) {
			errs = append(errs, os.Chmod(folder, 0o755))
		}
		if _, err := os.Stat(path); err == nil {
			errs = append(errs, os.Chown(path, user, user))
		}
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// serverFiles returns the files in the data folder that belong to no task: all except sandboxes and packages.
func serverFiles(t *testing.T, m *system.Machine) (files []string) {
	t.Helper()
	err := filepath.WalkDir(m.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path == filepath.Join(m.Dir, "cluster", "work") {
			return filepath.SkipDir
		}
		if entry.Type().IsRegular() {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"registry.db", "history.db", "cluster/secrets.json"} {
		if !slices.Contains(files, filepath.Join(m.Dir, want)) {
			t.Fatalf("there is no %s among %v", want, files)
		}
	}
	return files
}

// ports returns the ports of master and agent as JSON.
func ports(t *testing.T, m *system.Machine) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.Dir, "cluster", "ports.json"))
	if err != nil {
		t.Fatal(err)
	}
	var numbers []string
	for _, number := range regexp.MustCompile(`\d{4,5}`).FindAllString(string(text), -1) {
		if !slices.Contains(numbers, number) {
			numbers = append(numbers, number)
		}
	}
	return "[" + strings.Join(numbers, ",") + "]"
}

func inJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAKernelThatHidesNothingIsReported: the server detects at its start that it cannot hide files, says what to do,
// and still runs jobs.
func TestAKernelThatHidesNothingIsReported(t *testing.T) {
	t.Parallel()
	m := system.New(t, bin)
	programs := t.TempDir()
	refusing := script(`[ "$1" = can-hide ] && { echo "fork/exec: operation not permitted" >&2; exit 1; }
exec ` + filepath.Join(bin.Dir, "executor") + ` "$@"`)
	if err := os.WriteFile(filepath.Join(programs, "executor"), []byte(refusing), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := m.Command("--executor-dir", programs)
	if os.Geteuid() == 0 {
		startAs(t, cmd, nobody, m.Dir, m.LedgerPath)
	}
	m.LaunchCommand(cmd)
	m.Ready()
	for _, want := range []string{"data folder not hidden from jobs", "--run-as USER", "operation not permitted"} {
		if !strings.Contains(m.ServerLog(), want) {
			t.Errorf("the server's log lacks %q:\n%s", want, m.ServerLog())
		}
	}
	m.App("a", only("true"), nil)
	m.Job("j", "a", nil)
	m.Run("j", "FINISHED")
}

// TestAsRootUnusableUsersAreRefused: root's server does not start if jobs cannot run as the user that a flag names.
func TestAsRootUnusableUsersAreRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("this needs root: make ci ONLY=root runs it")
	}
	m := system.New(t, bin)
	for _, c := range []struct {
		want string
		args []string
	}{
		{`user "no-such-user" is not known on this machine`, []string{"--run-as", "no-such-user"}},
		{"user nobody can't enter " + filepath.Dir(m.Dir),
			[]string{"--run-as", "nobody"}}, // the folders of tests are closed to others
	} {
		if status, said := m.Fails(withoutRunAs(m.Command(c.args...))); status != 1 || !strings.Contains(said, c.want) {
			t.Errorf("%v: status %d, %s, want %q", c.args, status, said, c.want)
		}
	}
}

// TestAsRootWithoutRightsJobsRunAsRoot: if jobs cannot run as another user, they run as root, and the server's log says
// why and what to do. One reason is a data folder in a folder that is closed to other users. Another is a container
// whose root may not signal other users' processes.
func TestAsRootWithoutRightsJobsRunAsRoot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("this needs root: make ci ONLY=root runs it")
	}
	for name, c := range map[string]struct {
		open       bool   // whether other users can reach the data folder
		capability string // dropped by setpriv(1)
		reason     string
	}{
		"a closed folder": {false, "", "can't enter /"},
		"a lost right":    {true, "-kill", "CAP_KILL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := system.New(t, bin)
			cmd := withoutRunAs(m.Command())
			if c.open {
				startAs(t, cmd, 0, m.Dir, m.LedgerPath)
			}
			if c.capability != "" {
				setpriv, err := exec.LookPath("setpriv")
				if err != nil {
					t.Skip("there is no setpriv, of util-linux")
				}
				cmd.Args = append([]string{setpriv, "--bounding-set=" + c.capability, "--"}, cmd.Args...)
				cmd.Path = setpriv
			}
			m.LaunchCommand(cmd)
			m.Ready()
			for _, want := range []string{"job user not chosen: jobs run as root", c.reason, "--run-as USER"} {
				if !strings.Contains(m.ServerLog(), want) {
					t.Errorf("the server's log lacks %q:\n%s", want, m.ServerLog())
				}
			}
			m.App("a", only(`test "$(id -u)" = 0`), nil)
			m.Job("j", "a", nil)
			m.Run("j", "FINISHED")
		})
	}
}

// withoutRunAs removes the variable with the jobs' user from the environment of a server's command.
func withoutRunAs(cmd *exec.Cmd) *exec.Cmd {
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "ELASTICJOB_RUN_AS=") })
	return cmd
}
