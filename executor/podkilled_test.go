package executor_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/elasticjob-go/elasticjob/internal/wire"
	wait "github.com/elasticjob-go/elasticjob/test/eventually"
)

// TestPodKilled: a signal to the container's first process kills its task with the task's grace, in every phase of the
// task.
func TestPodKilled(t *testing.T) {
	t.Parallel()
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(slow.Close)
	for name, tt := range map[string]struct {
		script, until, stdout string
		grace                 int64
		signal                syscall.Signal
		cause                 string
	}{
		"heeds it":     {"trap 'echo ends; exit 0' TERM; echo begins; sleep 1000 & wait", "begins", "begins\nends\n", 60_000, syscall.SIGTERM, "killed"},
		"another one":  {"trap 'echo ends; exit 9' TERM; echo begins; sleep 1000 & wait", "begins", "begins\nends\n", 60_000, syscall.SIGQUIT, "killed"},
		"ignores it":   {"trap '' TERM; echo begins; sleep 1000", "begins", "begins\n", 50, syscall.SIGTERM, "killed"},
		"is fetching":  {"", "", "", 60_000, syscall.SIGTERM, "killed before its process was started"},
		"is a request": {"", "", "", 60_000, syscall.SIGTERM, "killed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := taskOf("t", script(t, tt.script))
			task.KillGraceMillis = tt.grace
			switch name {
			case "is fetching":
				task.Package.URL = slow.URL + "/job.sh"
			case "is a request":
				requested := make(chan struct{})
				target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					close(requested)
					<-r.Context().Done()
				}))
				t.Cleanup(target.Close)
				onlyRequest(&task, target.URL, http.MethodGet)
				p := startPod(t, podDir(t), task, nil)
				<-requested
				p.endsBy(tt.signal, tt.stdout, tt.cause)
				return
			}
			p := startPod(t, podDir(t), task, nil)
			p.until("what is under way", func(text string, records []wire.PodRecord) bool {
				return tt.until != "" && strings.Contains(text, tt.until) || tt.until == "" && len(records) == 1
			})
			p.endsBy(tt.signal, tt.stdout, tt.cause)
		})
	}
}

func (p *podTry) endsBy(signal syscall.Signal, stdout, cause string) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Fatal(err)
	}
	status, left := p.end()
	if status != 143 || p.text.String() != stdout || !strings.Contains(left.Cause, cause) ||
		left.StartTime.IsZero() && left.Phase == "" {
		p.t.Errorf("status %d, %q, %+v", status, p.text.String(), left)
	}
}

// TestPodPrepareKilled: an init container that fetches ends when it gets a signal.
func TestPodPrepareKilled(t *testing.T) {
	t.Parallel()
	requested := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(requested)
		<-r.Context().Done()
	}))
	t.Cleanup(slow.Close)
	p := startPod(t, podDir(t), taskOf("t", slow.URL+"/job.sh"), nil, "--prepare")
	<-requested
	p.endsBy(syscall.SIGTERM, "", "")
}

// TestPodReapsOrphans: processes that a job leaves behind while it runs become children of the first process, and
// are reaped.
func TestPodReapsOrphans(t *testing.T) {
	t.Parallel()
	p := startPod(t, podDir(t), taskOf("t",
		script(t, "for i in 1 2 3 4 5; do (true &); done; echo left; trap 'exit 0' TERM; sleep 1000 & wait")), nil)
	p.awaitText("left")
	wait.Works(t, "no zombie", func() error {
		stats, err := filepath.Glob("/proc/[0-9]*/stat")
		for _, stat := range stats {
			text, _ := os.ReadFile(stat)
			if _, after, _ := strings.Cut(string(text), ") "); strings.HasPrefix(after,
				fmt.Sprintf("Z %d ", p.cmd.Process.Pid)) {
				err = fmt.Errorf("a zombie: %s", text)
			}
		}
		return err
	})
	p.endsBy(syscall.SIGTERM, "left\n", "killed")
}

// TestPodDrained: a daemon's shard that is drained ends after its present run. If it is killed in the meantime, it ends
// at once.
func TestPodDrained(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]bool{"ends by itself": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drain, goOn := filepath.Join(t.TempDir(), "drain"), filepath.Join(t.TempDir(), "go-on")
			if err := os.WriteFile(drain, []byte("\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			task := daemonOf("d", residentScript(t, `echo runs; while [ ! -e $GO_ON ]; do sleep 0.02; done`))
			task.Env = map[string]string{"GO_ON": goOn}
			task.KillGraceMillis = 50
			p := startPod(t, podDir(t), task,
				func(c *exec.Cmd) { c.Env = append(c.Env, "ELASTICJOB_DRAIN_FILE="+drain) })
			p.awaitText("runs")
			if err := os.WriteFile(drain, []byte("the job is paused\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			if killed {
				p.endsBy(syscall.SIGTERM, "runs\n", "killed")
				return
			}
			if err := os.WriteFile(goOn, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			status, left := p.end()
			if status != 143 || left.Run == nil || left.Run.State != wire.RunFinished ||
				p.text.String() != strings.Repeat("runs\n", int(left.Run.Number)) {
				t.Errorf("status %d, %q, %+v", status, p.text.String(), left)
			}
		})
	}
}
