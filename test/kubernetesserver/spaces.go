package kubernetesserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
	"github.com/elasticjob-go/elasticjob/test/internal/network"
)

// spaces are the process and mount namespaces of a Kubernetes. They live as long as their first process, which ends
// with the test. The kernel then ends all other processes in them, including those that a killed containerd has left.
type spaces struct {
	holder *child.Process // unshare, which waits for the first process
	pid    int            // the first process's id outside the namespaces
}

// keeper is the script of the first process, which becomes the parent of orphans. It puts the names of the nodes into
// /etc/hosts. It also mounts empty folders over those of the machine to which kubelets, containerds and runc always
// write, whatever folders their flags name.
const keeper = `set -e
mount --bind "$1/hosts" /etc/hosts
for folder in /run /var/lib /var/log; do mount -t tmpfs -o mode=755 tmpfs "$folder"; done
: >"$1/kept"
while :; do sleep 3600 & wait; done`

func newSpaces(dir, hosts string) (*spaces, error) {
	if err := os.WriteFile(filepath.Join(dir, "hosts"), []byte(hosts), 0o644); err != nil {
		return nil, err
	}
	log := filepath.Join(dir, "spaces.log")
	holder, err := child.Start(exec.Command("unshare", "--pid", "--mount", "--fork", "--kill-child=SIGKILL",
		"--mount-proc", "--propagation", "private",
		"sh", "-c", keeper, "keeper", dir), log)
	if err != nil {
		return nil, err
	}
	s := &spaces{holder: holder}
	err = await("make namespaces", holder.Done(), func(context.Context) (err error) {
		if _, err = os.Stat(filepath.Join(dir, "kept")); err == nil {
			s.pid, err = onlyChild(holder.PID())
		}
		return err
	})
	if err != nil {
		holder.Kill()
		return nil, fmt.Errorf("%w: %s", err, child.LastWords(log))
	}
	return s, nil
}

// start starts a command in the namespaces, and in a network if it is not nil. p is nsenter, which ends together with
// the command. pid is the command's process id.
func (s *spaces) start(log string, in *network.Network, command ...string) (p *child.Process, pid int, err error) {
	enter := []string{"--target", strconv.Itoa(s.pid), "--pid", "--mount"}
	if in != nil {
		enter = append(enter, "--net=/run/netns/"+in.Name()) // nsenter opens it before it enters another /run
	}
	cmd := exec.Command("nsenter", slices.Concat(enter, []string{"--"}, command)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C.UTF-8"}
	if p, err = child.Start(cmd, log); err != nil {
		return nil, 0, err
	}
	err = await("start "+command[0], p.Done(), func(context.Context) (err error) {
		pid, err = onlyChild(p.PID())
		return err
	})
	return p, pid, err
}

// run runs a command in the namespaces and waits for it.
func (s *spaces) run(command ...string) error {
	cmd := exec.Command("nsenter", append([]string{"--target", strconv.Itoa(s.pid), "--pid", "--mount", "--"},
		command...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, out)
	}
	return nil
}

// end ends all processes in the namespaces, and waits until the kernel has ended them.
func (s *spaces) end() error {
	process, err := os.FindProcess(s.pid)
	if err == nil {
		err = process.Kill()
	}
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("end the namespaces: %w", err)
	}
	<-s.holder.Done() // unshare waits for the first process, whose end waits for all others
	return nil
}

// onlyChild returns the only child of a process.
func onlyChild(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) != 1 {
		return 0, fmt.Errorf("process %d has the children %q, not one", pid, fields)
	}
	return strconv.Atoi(fields[0])
}
