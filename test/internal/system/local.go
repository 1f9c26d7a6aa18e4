package system

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
)

// localMesos is cluster/local: either one process for the only master and one for each agent, or one process for all.
type localMesos struct {
	c       *Cluster
	setup   Setup
	address string // of the master, the same after each start
	// combined are additional flags of a process with the master and agents; nil if each is a process of its own.
	combined []string
	masters  map[int]*server
	agents   map[int]*server
}

func newLocalMesos(c *Cluster, setup Setup) *localMesos {
	c.Helper()
	ports, err := child.FreePorts(1)
	if err != nil {
		c.Fatal(err)
	}
	return &localMesos{c: c, setup: setup, address: fmt.Sprint("127.0.0.1:", ports[0]), masters: map[int]*server{},
		agents: map[int]*server{}}
}

var (
	mesosListening = regexp.MustCompile(`(http://127\.[0-9.]+:\d+)`)
	agentListening = regexp.MustCompile(`local agent: (http://127\.[0-9.]+:\d+)`)
	agentReady     = regexp.MustCompile(`(ready)`)
)

func (l *localMesos) dir() string { return filepath.Join(l.c.Dir, "mesos") }

// credentialFlags returns the flags for the credentials of masters and agents. It writes the file that they name.
func (l *localMesos) credentialFlags() []string {
	l.c.Helper()
	switch {
	case l.combined != nil:
		return nil // the master creates its own
	case !l.setup.Credentials:
		return []string{"--no-credentials"}
	}
	path := filepath.Join(l.c.Dir, "mesos-credentials.json")
	if err := os.WriteFile(path, []byte(fmt.Sprintf(`{"principal":%q,"secret":%q}`, principal, secret)),
		0o600); err != nil {
		l.c.Fatal(err)
	}
	return []string{"--credentials", path}
}

func (l *localMesos) StartMaster(n int) { l.c.Helper(); l.startMaster(n) }

func (l *localMesos) startMaster(n int, args ...string) {
	l.c.Helper()
	if l.MasterRuns(n) {
		l.c.Fatalf("master %d runs already", n)
	}
	flags := l.combined
	if flags == nil {
		flags = append(l.credentialFlags(), "--agents", "0")
	} else {
		l.c.reservePort(l.dir())
	}
	if l.setup.InMemory {
		flags = append(flags, "--registry", "in_memory")
	}
	all := slices.Concat([]string{"local-cluster", "--listen", l.address, "--data-dir", l.dir(),
		"--agent-ping-timeout", "500ms", "--max-agent-ping-timeouts", fmt.Sprint(cmp.Or(l.setup.MissedPings, 3)),
		"--cpus", fmt.Sprint(l.c.CPUs), "--memory", fmt.Sprint(l.c.MemoryMB)}, flags, args)
	l.masters[n] = l.c.spawn(fmt.Sprintf("master %d", n), l.command(all), mesosListening)
}

func (l *localMesos) command(args []string) *exec.Cmd {
	cmd := exec.Command(l.c.bin.Scheduler(), args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.c.Dir, "MESOS_CANARY=" + l.c.Canary}
	if l.c.CAFile != "" {
		cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+l.c.CAFile)
	}
	return cmd
}

func (l *localMesos) KillMaster(n int) {
	l.c.Helper()
	l.c.killChild(fmt.Sprintf("master %d", n), l.masters, n)
}

func (l *localMesos) SignalMaster(n int, sig syscall.Signal) {
	l.c.Helper()
	l.c.signal(fmt.Sprintf("master %d", n), l.masters[n], sig)
}

func (l *localMesos) MasterRuns(n int) bool { return l.masters[n].runs() }

func (l *localMesos) MasterAddress(int) string { return l.address }

// CaughtUp is true at once, because the only master has no others to catch up with.
func (l *localMesos) CaughtUp(n int) bool { return l.MasterRuns(n) }

func (l *localMesos) Leads(n int) bool {
	_, err := l.Operate(n, `{"type":"GET_AGENTS"}`)
	return err == nil
}

func (l *localMesos) StartAgent(n int) {
	l.c.Helper()
	args := []string{"local-agent", "--master", "http://" + l.address, "--ip", loopbackIP(n),
		"--data-dir", l.AgentDir(n), "--cpus", fmt.Sprint(l.c.CPUs), "--memory", fmt.Sprint(l.c.MemoryMB)}
	l.startAgent(n, agentListening, append(args, l.credentialFlags()...))
}

// startAgent starts an agent, and waits until its output matches the pattern.
func (l *localMesos) startAgent(n int, pattern *regexp.Regexp, args []string) {
	l.c.Helper()
	if l.agents[n].runs() {
		l.c.Fatalf("agent %d runs already", n)
	}
	l.c.reservePort(l.AgentDir(n))
	l.agents[n] = l.c.spawn(fmt.Sprintf("agent %d", n), l.command(args), pattern)
}

func (l *localMesos) KillAgent(n int) {
	l.c.Helper()
	l.c.killChild(fmt.Sprintf("agent %d", n), l.agents, n)
}

func (l *localMesos) SignalAgent(n int, sig syscall.Signal) {
	l.c.Helper()
	l.c.signal(fmt.Sprintf("agent %d", n), l.agents[n], sig)
}

func (l *localMesos) Registered(n int) bool {
	a := l.agents[n]
	return a.runs() && agentReady.MatchString(a.out.String())
}

func (l *localMesos) AgentDir(n int) string { return filepath.Join(l.c.Dir, fmt.Sprint("agent-", n)) }

func (l *localMesos) CredentialsFile() string {
	switch {
	case l.combined != nil:
		return filepath.Join(l.dir(), "credentials.json")
	case l.setup.Credentials:
		return filepath.Join(l.c.Dir, "mesos-credentials.json")
	}
	return ""
}

func (l *localMesos) Operate(_ int, call string) (string, error) {
	headers := []string{"Accept: application/json"}
	if file := l.CredentialsFile(); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		var own struct{ Principal, Secret string }
		if err := json.Unmarshal(text, &own); err != nil {
			return "", err
		}
		headers = append(headers, "Authorization: Basic "+
			base64.StdEncoding.EncodeToString([]byte(own.Principal+":"+own.Secret)))
	}
	a, err := send(l.c.client, "POST", "http://"+l.address+"/api/v1", call, headers)
	if err == nil && a.Status >= http.StatusMultipleChoices {
		err = fmt.Errorf("%d %s", a.Status, a.Body)
	}
	return a.Body, err
}

// end ends all masters and agents; the Machine ends the executors.
func (l *localMesos) end() {
	for what, all := range map[string]map[int]*server{"agent": l.agents, "master": l.masters} {
		for n, s := range maps.Clone(all) {
			if l.c.Failed() {
				l.c.Logf("the log of %s %d ends:\n%s", what, n, s.log.tail())
			}
			l.c.killChild(fmt.Sprint(what, " ", n), all, n)
		}
	}
}

// MesosURL returns the base URL of the only master of a cluster/local.
func (c *Cluster) MesosURL() string { return "http://" + c.local.address }

// MesosAddress returns the host and port of master 1.
func (c *Cluster) MesosAddress() string { return c.Mesos.MasterAddress(1) }

// StartMesos starts the only master of a cluster/local, and the agents of its process, with the data of their last run.
// It waits until the master listens.
func (c *Cluster) StartMesos(args ...string) { c.Helper(); c.local.startMaster(1, args...) }

// KillMesos kills the only master of a cluster/local, and the agents of its process, with SIGKILL. Executors keep
// running.
func (c *Cluster) KillMesos() { c.Helper(); c.local.KillMaster(1) }

// StartAgent starts agent n of a cluster/local whose master's process has no agents, and waits until it is ready. The
// agent's address is 127.0.0.n. It connects to the URL master.
func (c *Cluster) StartAgent(n int, master string, args ...string) {
	c.Helper()
	c.local.startAgent(n, agentReady, append([]string{"local-agent", "--master", master, "--ip",
		fmt.Sprint("127.0.0.", n), "--credentials", c.local.CredentialsFile(),
		"--data-dir", c.AgentDir(n), "--cpus", fmt.Sprint(c.CPUs), "--memory", fmt.Sprint(c.MemoryMB)}, args...))
}

// AgentDir returns the data folder of agent n.
func (c *Cluster) AgentDir(n int) string { return c.Mesos.AgentDir(n) }

// KillAgent kills agent n with SIGKILL; its executors keep running.
func (c *Cluster) KillAgent(n int) { c.Helper(); c.Mesos.KillAgent(n) }

// runs reports whether a process was started and has not ended.
func (s *server) runs() bool {
	if s == nil {
		return false
	}
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// killChild kills process n of all with SIGKILL, and forgets it.
func (c *Cluster) killChild(what string, all map[int]*server, n int) {
	c.Helper()
	s := all[n]
	delete(all, n)
	if s == nil {
		return
	}
	if s.runs() {
		_ = s.cmd.Process.Kill() // it may have ended meanwhile
	}
	c.await(what, s)
}
