package executor_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// untilShot is a script that writes that it ran, and ends with its executor, as in a container.
const untilShot = "echo ran; read -r _ <&3"

// TestPodStartedTwice: a second container begins no task that a first one has begun, whatever its kind, and reports
// that the task may have run.
func TestPodStartedTwice(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	requested := make(chan struct{}, 10)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		requested <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(target.Close)
	request := taskOf("t", "")
	onlyRequest(&request, target.URL, http.MethodGet)
	gone := taskOf("t", script(t, untilShot))
	for name, tt := range map[string]struct {
		task    wire.Task
		between func() // called between the two containers
	}{
		"process": {task: taskOf("t", script(t, untilShot))},
		"daemon":  {task: daemonOf("t", script(t, untilShot))},
		"request": {task: request},
		"its package is gone": {gone, func() {
			if err := os.Remove(strings.TrimPrefix(gone.Package.URL, "file://")); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := podDir(t)
			p := startPod(t, dir, tt.task, nil)
			if tt.task.HTTP != nil {
				<-requested
			} else {
				p.awaitText("ran")
			}
			p.shoot()
			if tt.between != nil {
				tt.between()
			}
			startPod(t, dir, tt.task, nil).mustRefuse()
		})
	}
	t.Cleanup(func() {
		if n := requests.Load(); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

// shoot kills the container's first process, and with it everything in the container. The termination message must be
// white space. If it were empty, the kubelet would use the job's output instead.
func (p *podTry) shoot() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-p.read
	if err := ignoreExit(p.cmd.Wait()); err != nil {
		p.t.Fatal(err)
	}
	mustBeEmpty(p.t, p.cmd.Process.Pid)
	if message, err := os.ReadFile(filepath.Join(p.dir, "message")); err != nil || len(message) == 0 ||
		len(bytes.TrimSpace(message)) > 0 {
		p.t.Errorf("termination message %q, %v; want white space", message, err)
	}
}

// mustRefuse waits for the end of a container, which must refuse to run the task because it was begun before.
func (p *podTry) mustRefuse() {
	p.t.Helper()
	// The signal ends a container that wrongly runs the task.
	defer time.AfterFunc(deadline, func() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }).Stop()
	status, left := p.end()
	const why = "its container was started a second time"
	if status != 125 || !left.SupervisorLost || !strings.Contains(left.Cause, why) || !left.StartTime.IsZero() ||
		p.text.String() != "" || len(p.records) != 0 ||
		!strings.HasPrefix(p.stderr.String(), "executor pod: "+why) {
		p.t.Errorf("status %d, %+v, stderr %q, %v", status, left, p.stderr.String(),
			&unwanted{p.text.String(), p.records})
	}
}

// TestPodKilledWhileItBegins: a task whose container is killed after the marker was written and before the process
// was started counts as begun.
func TestPodKilledWhileItBegins(t *testing.T) {
	t.Parallel()
	for range 3 {
		dir, task := podDir(t), taskOf("t", script(t, untilShot))
		p := startPod(t, dir, task, nil)
		for end := time.Now().Add(deadline); ; {
			if _, err := os.Lstat(filepath.Join(dir, "begun")); err == nil {
				break
			} else if !errors.Is(err, fs.ErrNotExist) || time.Now().After(end) {
				t.Fatal("it has not begun: ", err)
			}
		}
		p.shoot()
		startPod(t, dir, task, nil).mustRefuse()
	}
}

// TestPodKilledInItsFetch: a task whose container is killed during the fetch has not begun: the next container
// fetches from the beginning, and runs the task.
func TestPodKilledInItsFetch(t *testing.T) {
	t.Parallel()
	const job = "#!/bin/sh\necho ran\n"
	for name, args := range map[string][]string{"in the container": nil, "in an init container": {"--prepare"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", strconv.Itoa(len(job)))
				if requests.Add(1) > 1 {
					_, _ = w.Write([]byte(job))
					return
				}
				_, _ = w.Write([]byte(job[:12]))
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}))
			t.Cleanup(server.Close)
			dir, task := podDir(t), taskOf("t", server.URL+"/job.sh")
			first := startPod(t, dir, task, nil, args...)
			waitForPart(t, dir, job[:12])
			first.shoot()
			if args != nil {
				for range 2 { // the second time the package has been fetched
					if status, left := startPod(t, dir, task, nil, args...).end(); status != 0 ||
						len(left.PackageSHA256) != 64 {
						t.Fatalf("status %d, %+v", status, left)
					}
				}
				// This is the state after a kill between the package and its checksum, which marks the package as
				// complete.
				if err := os.Remove(filepath.Join(dir, "package.sha256")); err != nil {
					t.Fatal(err)
				}
				if status, left := startPod(t, dir, task, nil, args...).end(); status != 0 {
					t.Fatalf("status %d, %+v", status, left)
				}
			}
			p := startPod(t, dir, task, nil)
			if status, left := p.end(); status != 0 || p.text.String() != "ran\n" || left.PackageSHA256 == "" {
				t.Errorf("status %d, %q, %+v", status, p.text.String(), left)
			}
			if want, n := int32(2+len(args)), requests.Load(); n != want {
				t.Errorf("%d requests, want %d", n, want)
			}
		})
	}
}

// waitForPart waits until a file below dir has that content.
func waitForPart(t *testing.T, dir, content string) {
	t.Helper()
	for end := time.Now().Add(deadline); time.Now().Before(end); {
		found := false
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				text, _ := os.ReadFile(path)
				found = found || string(text) == content
			}
			return nil
		})
		if found {
			return
		}
	}
	t.Fatal("no part of the package has arrived")
}

// TestAsRootPodWithoutSpace: without space for the marker the task fails before it has begun, and the error says
// what to do.
func TestAsRootPodWithoutSpace(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	task := taskOf("t", "")
	task.Command = []string{"/bin/echo", "ran"}
	refused := 0
	for inodes := 2; inodes < 100; inodes++ {
		dir, message := t.TempDir(), t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "nr_inodes="+strconv.Itoa(inodes)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		p := startPod(t, dir, task, func(c *exec.Cmd) {
			c.Env = append(c.Env,
				"ELASTICJOB_TERMINATION_LOG="+message+"/message")
		})
		p.dir = message
		status, left := p.end()
		if status == 0 {
			break
		}
		if status != 125 || left.SupervisorLost || !left.StartTime.IsZero() || p.text.String() != "" {
			t.Errorf("with %d files: status %d, %q, %+v", inodes, status, p.text.String(), left)
		}
		if strings.Contains(left.Cause, "mark the task as begun: open "+dir+"/begun: no space left on device; ") {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no disk was too small for that alone")
	}
}
