package executor_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/elasticjob-go/elasticjob/internal/wire"
	wait "github.com/elasticjob-go/elasticjob/test/eventually"
)

// podTry is a container of a pod whose first process is "executor pod".
type podTry struct {
	t      *testing.T
	dir    string // shared by the pod's containers
	cmd    *exec.Cmd
	stderr bytes.Buffer  // valid once the process has ended
	read   chan struct{} // closed when stdout has been read to its end

	mu      sync.Mutex
	text    strings.Builder // stdout without records
	records []wire.PodRecord
}

// podDir returns a pod's folder, which is empty.
func podDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() { // packages are read-only
		_ = exec.Command("chmod", "-R", "u+w", dir).Run()
	})
	return dir
}

// startPod starts a container in the folder /. change, if not nil, can change the command, such as its environment or
// its folder. args are additional arguments.
func startPod(t *testing.T, dir string, task wire.Task, change func(*exec.Cmd), args ...string) *podTry {
	t.Helper()
	data, err := task.Encode()
	if err != nil {
		t.Fatal(err)
	}
	p := &podTry{t: t, dir: dir, cmd: exec.Command(binary, append([]string{"pod"}, args...)...),
		read: make(chan struct{})}
	p.cmd.Dir = "/"
	p.cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/home/of-image", "ELASTICJOB_TASK=" + string(data),
		"ELASTICJOB_POD_DIR=" + dir, "ELASTICJOB_TERMINATION_LOG=" + dir + "/message"}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(p.cmd)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	go func() {
		defer close(p.read)
		var split wire.PodOutput
		buffer := make([]byte, 1000)
		for {
			n, err := out.Read(buffer)
			text, records := split.Next(buffer[:n])
			if err != nil {
				text = split.End()
			}
			p.mu.Lock()
			p.text.Write(text)
			p.records = append(p.records, records...)
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return p
}

// until waits until good returns true for the text and the records that the container has written.
func (p *podTry) until(what string, good func(text string, records []wire.PodRecord) bool) {
	p.t.Helper()
	wait.Works(p.t, what, func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if good(p.text.String(), p.records) {
			return nil
		}
		return &unwanted{p.text.String(), p.records}
	})
}

// unwanted is an error that shows what a container has written.
type unwanted struct {
	text    string
	records []wire.PodRecord
}

func (u *unwanted) Error() string {
	text := "wrote " + u.text
	for _, r := range u.records {
		data, _ := r.Encode()
		text += "\n" + strings.TrimPrefix(string(data), "\x1b")
	}
	return text
}

// awaitText waits for a text in stdout.
func (p *podTry) awaitText(text string) {
	p.t.Helper()
	p.until("output "+text, func(got string, _ []wire.PodRecord) bool { return strings.Contains(got, text) })
}

// end waits for the end of the container, and returns its exit status and its termination message. It checks that
// no process is left.
func (p *podTry) end() (status int, left wire.Status) {
	p.t.Helper()
	<-p.read
	if err := ignoreExit(p.cmd.Wait()); err != nil {
		p.t.Fatal(err)
	}
	message, err := os.ReadFile(filepath.Join(p.dir, "message"))
	left, ok := wire.DecodeStatus(message)
	if err != nil || !ok || len(message) > 4096 {
		p.t.Fatalf("termination message %q: %v", message, err)
	}
	mustBeEmpty(p.t, p.cmd.Process.Pid)
	return p.cmd.ProcessState.ExitCode(), left
}

// ofRuns returns the runs that were reported.
func ofRuns(records []wire.PodRecord) (runs []wire.Run) {
	for _, r := range records {
		if r.Status != nil && r.Status.Run != nil {
			runs = append(runs, *r.Status.Run)
		}
	}
	return runs
}
