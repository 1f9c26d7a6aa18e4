package mesosserver

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// MasterOptions describe a master. The zero value is a single master that forgets everything at a restart.
type MasterOptions struct {
	// Dir is the master's folder; by default a temporary one.
	Dir string
	// ZK is the address at which masters elect a leader, as zk://HOST:PORT,…/PATH. A master without ZK always leads.
	ZK string
	// Quorum is the number of masters that must store each entry of the replicated log, which contains the registry. 0
	// keeps the registry in memory.
	Quorum int
	// PingTimeout is how long an agent may take to answer a ping, by default 1 s. After three missed pings an agent is
	// unreachable.
	PingTimeout time.Duration
	// Credentials are required from frameworks and operators.
	Credentials *Credentials
	// Args are additional flags, which take precedence over those from the options.
	Args []string
}

// Master is a Mesos master. Its methods must be called from the test's goroutine, and fail the test on errors.
type Master struct {
	server
	inMemory bool
}

// StartMaster starts a master. When it returns, the master answers, but may not lead yet.
func StartMaster(t testing.TB, o MasterOptions) *Master {
	t.Helper()
	m := &Master{server{t: t, what: "master", dir: o.Dir, ip: "127.0.0.1", credentials: o.Credentials}, o.Quorum == 0}
	m.args = func() []string {
		if o.PingTimeout == 0 {
			o.PingTimeout = time.Second
		}
		args := []string{
			"--ip=127.0.0.1", "--hostname=127.0.0.1", fmt.Sprint("--port=", m.port),
			"--work_dir=" + filepath.Join(m.dir, "work"), "--webui_dir=" + filepath.Join(Home(), "webui"),
			fmt.Sprintf("--agent_ping_timeout=%dms", o.PingTimeout.Milliseconds()), "--max_agent_ping_timeouts=3",
			"--allocation_interval=200ms",
		}
		if o.ZK != "" {
			args = append(args, "--zk="+o.ZK, "--zk_session_timeout=4secs")
		}
		if o.Quorum == 0 {
			args = append(args, "--registry=in_memory", "--quorum=1")
		} else {
			args = append(args, fmt.Sprint("--quorum=", o.Quorum))
		}
		if o.Credentials == nil {
			args = append(args, "--no-authenticate_http_frameworks")
		} else {
			path, err := o.Credentials.file(m.dir)
			if err != nil {
				t.Fatalf("mesosserver: %v", err)
			}
			args = append(args, "--authenticate_http_frameworks", "--http_framework_authenticators=basic",
				"--authenticate_http_readonly", "--authenticate_http_readwrite", "--credentials="+path)
		}
		return override(args, o.Args)
	}
	m.start()
	return m
}

// Leads reports whether the master leads and has read its registry. Only then does it answer calls.
func (m *Master) Leads() bool {
	_, err := m.ask("POST", "/api/v1", `{"type":"GET_HEALTH"}`)
	return m.process != nil && err == nil
}

// CaughtUp reports whether the master has its part of the replicated log. A new cluster needs all its masters to create
// the log, so no master may be killed before all have caught up.
func (m *Master) CaughtUp() bool {
	return m.Runs() && (m.inMemory || m.metric("registrar/log/recovered") == 1)
}

// Operate sends a call to the operator API and returns the answer. A master that does not lead rejects it.
func (m *Master) Operate(call string) (string, error) { return m.ask("POST", "/api/v1", call) }
