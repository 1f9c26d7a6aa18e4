//go:build nightly

package images

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/eventually"
	"github.com/elasticjob-go/elasticjob/test/internal/child"
)

// machine is a set of namespaces for processes, mounts and networks, in which podman runs with all its files below
// dir.
type machine struct {
	*testing.T
	ctx     context.Context // ends when the test is interrupted, or two minutes before its deadline
	stop    context.CancelFunc
	dir     string
	holder  *child.Process // unshare, which holds the namespaces
	pid     int            // of the first process in the namespaces
	cgroups []string       // podman's cgroups that existed before
}

// network is the network that a command uses.
type network bool

const (
	ownNetwork  network = false // that of the namespaces, without access to others
	hostNetwork network = true  // that of this computer, for steps that fetch packages
)

// keeper is the script of the first process in the namespaces, which becomes the parent of orphans. The file systems
// that it mounts hide folders to which podman writes wherever its store is. It restores the target of /etc/resolv.conf,
// which may be a file below /run.
const keeper = `set -e
resolv=$(readlink -f /etc/resolv.conf)
cp "$resolv" "$1/resolv.conf"
for folder in /run /dev/shm; do mount -t tmpfs -o mode=1777 tmpfs "$folder"; done
if [ ! -e "$resolv" ]; then mkdir -p "${resolv%/*}"; cp "$1/resolv.conf" "$resolv"; fi
PATH=$PATH:/usr/sbin:/sbin ip link set lo up
: >"$1/kept"
while :; do sleep 3600 & wait; done`

func newMachine(t *testing.T) *machine {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if deadline, ok := t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-2*time.Minute))
		t.Cleanup(cancel)
	}
	t.Cleanup(stop)
	m := &machine{T: t, ctx: ctx, stop: stop, dir: t.TempDir(), cgroups: podmanCgroups()}
	for _, folder := range []string{"bin", "tmp", "home", "networks"} {
		if err := os.Mkdir(filepath.Join(m.dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(m.dir, "keeper.log")
	var err error
	m.holder, err = child.Start(exec.Command("unshare", "--pid", "--mount", "--net", "--fork", "--kill-child=SIGKILL",
		"--mount-proc", "--propagation", "private", "sh", "-c", keeper, "keeper", m.dir), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.end)
	eventually.Works(t, "make namespaces", func() error {
		if _, err := os.Stat(filepath.Join(m.dir, "kept")); err != nil {
			return fmt.Errorf("%w: %s", err, child.LastWords(log))
		}
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", m.holder.PID()))
		if err == nil {
			m.pid, err = strconv.Atoi(strings.TrimSpace(string(children)))
		}
		return err
	})
	return m
}

// end ends all processes in the namespaces, and removes their cgroups, which belong to no namespace.
func (m *machine) end() {
	if m.pid > 0 {
		if err := syscall.Kill(m.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			m.Errorf("ending the namespaces: %v", err)
		}
		<-m.holder.Done() // unshare waits for the first process, and that one for all others
	}
	m.holder.Kill()
	eventually.Works(m, "remove the cgroups", func() (failed error) {
		for _, group := range slices.Backward(podmanCgroups()) { // children first
			if slices.Contains(m.cgroups, group) {
				continue
			}
			if err := syscall.Rmdir(group); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = errors.Join(failed, fmt.Errorf("removing %s: %w", group, err))
			}
		}
		return failed
	})
	if left, err := child.Using(m.dir); err != nil || len(left) > 0 {
		m.Errorf("processes that still use %s: %v, %v", m.dir, left, err)
	}
}

// podmanCgroups lists the cgroups of podman, parents first. Version 2 has one tree, version 1 has one for each
// controller.
func podmanCgroups() (groups []string) {
	for _, pattern := range []string{"libpod*", "*/libpod*", "buildah*", "*/buildah*"} {
		found, _ := filepath.Glob(filepath.Join("/sys/fs/cgroup", pattern))
		for _, top := range found {
			_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
				if err == nil && entry.IsDir() {
					groups = append(groups, path)
				}
				return nil // a cgroup that was removed meanwhile is omitted
			})
		}
	}
	return groups
}

// command returns a command in the namespaces. Its processes end with the namespaces, at the latest.
func (m *machine) command(ctx context.Context, on network, args ...string) *exec.Cmd {
	spaces := []string{"--target", strconv.Itoa(m.pid), "--pid", "--mount"}
	var environment []string
	if on == hostNetwork {
		environment = os.Environ() // proxies may be named there
	} else {
		spaces = append(spaces, "--net")
	}
	cmd := exec.CommandContext(ctx, "nsenter",
		slices.Concat(spaces, []string{"--", "env", "--chdir", root()}, args)...)
	cmd.Env = append(environment,
		"PATH="+filepath.Join(m.dir, "bin")+":"+os.Getenv("PATH")+":/usr/sbin:/sbin", "LC_ALL=C.UTF-8",
		"HOME="+filepath.Join(m.dir, "home"), "TMPDIR="+filepath.Join(m.dir, "tmp"),
		"CONTAINERS_CONF="+testdata("containers.conf"), "DOCKER_HOST=unix://"+m.socket(), "COMPOSE_HTTP_TIMEOUT=300",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	// Killing nsenter does not kill the command, which ends with the namespaces and need not be waited for.
	cmd.WaitDelay = time.Second
	return cmd
}

// do runs a command that must succeed, and returns its output.
func (m *machine) do(on network, args ...string) string {
	m.Helper()
	out, err := m.command(m.ctx, on, args...).CombinedOutput()
	if err != nil {
		m.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// ask runs a command and returns its output, for conditions that are polled.
func (m *machine) ask(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(m.ctx, 30*time.Second)
	defer cancel()
	cmd := m.command(ctx, ownNetwork, args...)
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return string(out), err
}

// until repeats try each second until it returns no error. It fails after the time within.
func (m *machine) until(what string, within time.Duration, try func() error) {
	m.Helper()
	poll := time.NewTicker(time.Second)
	defer poll.Stop()
	deadline := time.After(within)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-m.ctx.Done():
			m.Fatalf("%s: interrupted: %v", what, err)
		case <-deadline:
			m.Fatalf("%s: %v", what, err)
		case <-poll.C:
		}
	}
}

func (m *machine) socket() string { return filepath.Join(m.dir, "podman.sock") }

// podman returns the command line of podman with all its files below dir.
func (m *machine) podman(args ...string) []string {
	return append([]string{"podman", "--root", filepath.Join(m.dir, "store"), "--runroot", filepath.Join(m.dir, "run"),
		"--tmpdir", filepath.Join(m.dir, "libpod"), "--network-config-dir", filepath.Join(m.dir, "networks")}, args...)
}

func root() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return dir
}

func testdata(name string) string { return filepath.Join(root(), "test", "images", "testdata", name) }
