package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster/mesos"
)

// actAsScheduler is the environment variable that makes the test binary run the scheduler.
const actAsScheduler = "ELASTICJOB_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(actAsScheduler) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

const processDeadline = 20 * time.Second

// program is a scheduler process.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
	log   bytes.Buffer
	wait  func() error
}

func startProgram(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(os.Args[0], args...), lines: make(chan string, 100)}
	p.cmd.Env = append(os.Environ(), actAsScheduler+"=1")
	if os.Geteuid() == 0 {
		p.cmd.Env = append(p.cmd.Env, "ELASTICJOB_RUN_AS=root")
	}
	p.cmd.Stderr = &p.log
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	outputRead := make(chan struct{})
	go func() {
		defer close(outputRead)
		for text := bufio.NewScanner(out); text.Scan(); {
			p.lines <- text.Text()
		}
	}()
	p.wait = sync.OnceValue(func() error {
		<-outputRead
		return p.cmd.Wait()
	})
	t.Cleanup(p.kill)
	return p
}

// awaitLine waits for a line with this prefix and returns the rest of it.
func (p *program) awaitLine(prefix string) string {
	p.t.Helper()
	deadline := time.After(processDeadline)
	for {
		select {
		case line := <-p.lines:
			if rest, found := strings.CutPrefix(line, prefix); found {
				return rest
			}
		case <-deadline:
			p.kill()
			p.t.Fatalf("%v does not print %q: %s", p.cmd.Args[1:], prefix, &p.log)
		}
	}
}

func (p *program) kill() {
	_ = p.cmd.Process.Kill() // the process may have ended
	_ = p.wait()
}

func startMaster(t *testing.T, dir, listen string, more ...string) (p *program, url string) {
	t.Helper()
	p = startProgram(t, append([]string{"local-cluster", "--agents", "0", "--listen", listen, "--data-dir", dir},
		more...)...)
	url, _, _ = strings.Cut(p.awaitLine("local cluster: master "), " ")
	return p, url
}

// agents returns the registered agents by id, and whether each is connected.
func agents(t *testing.T, url string, own *mesos.Credentials) map[string]bool {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/v1",
		strings.NewReader(`{"type":"GET_AGENTS"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.SetBasicAuth(own.User, own.Secret)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var decoded struct {
		GetAgents struct {
			Agents []struct {
				Active    bool
				AgentInfo struct{ ID struct{ Value string } } `json:"agent_info"`
			}
		} `json:"get_agents"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&decoded); err != nil {
		t.Fatal(err)
	}
	active := map[string]bool{}
	for _, a := range decoded.GetAgents.Agents {
		active[a.AgentInfo.ID.Value] = a.Active
	}
	return active
}

// awaitAgents waits until this many agents are connected and this many are not. It returns all of them.
func awaitAgents(t *testing.T, url string, own *mesos.Credentials, connected, away int) map[string]bool {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(processDeadline); ; <-tick.C {
		all, found := agents(t, url, own), 0
		for _, active := range all {
			if active {
				found++
			}
		}
		if found == connected && len(all) == connected+away {
			return all
		}
		if time.Now().After(deadline) {
			t.Fatalf("agents are %v, want %d connected and %d away", all, connected, away)
		}
	}
}

func TestLocalClusterOfProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	master, url := startMaster(t, filepath.Join(dir, "master"), "127.0.0.1:0")
	secrets := filepath.Join(dir, "master", "credentials.json")
	if hint := master.awaitLine("start a scheduler:"); !strings.Contains(hint,
		"--mesos "+url+" --mesos-credentials-file "+secrets) {
		t.Errorf("hint %q", hint)
	}
	own, err := mesos.ReadCredentials(secrets)
	if err != nil {
		t.Fatal(err)
	}
	startAgent := func(name, ip string) *program {
		t.Helper()
		p := startProgram(t, "local-agent", "--master", url, "--ip", ip, "--credentials", secrets, "--data-dir",
			filepath.Join(dir, name), "--cpus", "1", "--memory", "64")
		p.awaitLine("ready")
		return p
	}
	startAgent("one", "127.0.0.1")
	two := startAgent("two", "127.0.0.2")
	all := awaitAgents(t, url, own, 2, 0)

	two.kill()
	awaitAgents(t, url, own, 1, 1)
	two = startAgent("two", "127.0.0.2")
	for id := range awaitAgents(t, url, own, 2, 0) {
		if !all[id] {
			t.Errorf("agent %s is new", id)
		}
	}

	for _, registry := range []string{"file", "in_memory"} {
		master.kill()
		master, _ = startMaster(t, filepath.Join(dir, "master"), strings.TrimPrefix(url, "http://"), "--registry",
			registry)
		awaitAgents(t, url, own, 2, 0)
	}
	for _, p := range []*program{two, master} {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := p.wait(); err != nil {
			t.Errorf("%v: %v, %s", p.cmd.Args, err, &p.log)
		}
	}
}
