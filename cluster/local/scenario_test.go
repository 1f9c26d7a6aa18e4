package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/test/scenario"
)

// TestRules plays testdata/rules/*.txt against a cluster on one machine with real executors. Each file is named after
// its rule. Commands stand above a line "----", and what a framework then observes stands below it, up to an empty
// line. The commands:
//
//	begin                       starts a new cluster, and a framework subscribes
//	launch TASK, await TASK STATE
//	ask TASK                    sends RECONCILE
//	kill server, start [HOW]    the server dies, with master and agent; a new one starts. HOW is "giving-up" for
//	                            Options.GiveUpExecutors, or "hurried" to limit the time for executors to subscribe
//	                            again to 100 ms instead of an hour
//	squat, leave                another program binds the agent's port; it releases the port
//	executor paused|goes-on     SIGSTOP, SIGCONT
//	forget fork                 removes the record of the executor's fork, as if the server had crashed before it
//	ready                       waits until the agent has registered: its executors subscribed again or were given up
//	look                        prints the state of the executor's process
func TestRules(t *testing.T) {
	t.Parallel()
	scenario.Play(t, "testdata/rules/*.txt", func(t *testing.T, run func(testing.TB, scenario.Scene)) {
		s := &ruleScene{t: t}
		defer s.end()
		run(t, s)
	})
}

// silence is how long a test waits for something that must not happen.
const silence = 150 * time.Millisecond

// ruleScene is a cluster that is controlled by lines of text, and a framework that records what it observes.
type ruleScene struct {
	t         *testing.T
	dir       string
	cluster   *Cluster
	framework *subscriber
	squatter  net.Listener
	agentURL  string
	pid       int // of the executor
	said      []string
}

func (s *ruleScene) say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

// Command executes a line of a scenario.
func (s *ruleScene) Command(line string) error {
	if !s.command(append(strings.Fields(line), "", "")) {
		return errors.New("there is no such command")
	}
	return nil
}

// Said returns and clears what the framework has observed.
func (s *ruleScene) Said() string {
	defer func() { s.said = nil }()
	return strings.Join(append(s.said, ""), "\n")
}

func (s *ruleScene) command(w []string) bool {
	switch w[0] + " " + w[1] {
	case "begin ":
		s.dir = s.t.TempDir()
		s.start("")
		s.agentURL = s.cluster.AgentURL()
	case "kill server":
		end(s.t, s.cluster)
		s.cluster = nil
	case "start ", "start giving-up", "start hurried":
		s.start(w[1])
	case "squat ":
		s.squat()
	case "leave ":
		s.must(s.squatter.Close())
	case "executor paused":
		s.pause()
	case "executor goes-on":
		s.must(syscall.Kill(s.pid, syscall.SIGCONT))
	case "forget fork":
		s.forgetFork()
	case "ready ":
		awaitReady(s.t, s.cluster)
	case "look ":
		s.look()
	default:
		return s.taskCommand(w)
	}
	return true
}

func (s *ruleScene) taskCommand(w []string) bool {
	switch w[0] {
	case "launch":
		s.framework.launch(custom(s.t, w[1], "run"))
	case "await":
		status := s.framework.update(w[1], "TASK_"+w[2])
		if container, ok := status["container_status"].(object); ok && s.pid == 0 {
			if pid, ok := container["executor_pid"].(float64); ok {
				s.pid = int(pid)
			}
		}
		reason, _ := status["reason"].(string)
		s.say("%s", strings.TrimSpace("reported: "+w[1]+" "+w[2]+" "+reason))
	case "ask":
		s.ask(w[1])
	default:
		return false
	}
	return true
}

func (s *ruleScene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// varies matches the parts of an error that differ in each run.
var varies = regexp.MustCompile(`pid \d+ \([^)]*\)|port \d{4,5}\b`)

// start starts a server in the directory, and subscribes a framework if it can.
func (s *ruleScene) start(how string) {
	opts := Options{
		DataDir: s.dir, CPUs: 4, MemoryMB: 1024, NoCredentials: true, Logger: slog.New(slog.DiscardHandler),
		GiveUpExecutors: how == "giving-up", ReregistrationTimeout: time.Hour,
	}
	if how == "hurried" {
		opts.ReregistrationTimeout = 100 * time.Millisecond
	}
	c, err := Start(s.t.Context(), opts)
	if err != nil {
		s.say("the server ends: %s", varies.ReplaceAllStringFunc(strings.ReplaceAll(err.Error(), s.dir, "DATA_DIR"),
			func(text string) string {
				if strings.HasPrefix(text, "port") {
					return "port PORT"
				}
				return "pid PID (PROGRAM)"
			}))
		return
	}
	s.cluster = c
	switch {
	case s.agentURL == "":
	case c.AgentURL() == s.agentURL:
		s.say("the agent has the port that it had")
	default:
		s.say("the agent has another port")
	}
	s.framework = subscribe(s.t, c.MasterURL())
	s.framework.next("SUBSCRIBED")
}

// squat binds the agent's port as another program would. The server must have released it before.
func (s *ruleScene) squat() {
	address := strings.TrimPrefix(s.agentURL, "http://")
	for end := time.Now().Add(deadline); ; <-time.After(5 * time.Millisecond) {
		var err error
		if s.squatter, err = net.Listen("tcp4", address); err == nil {
			return
		}
		if time.Now().After(end) {
			s.t.Fatal(err)
		}
	}
}

// ask records what the master answers, or that it does not answer. Other events that arrive meanwhile, such as an
// offer of an agent that registered again, are kept for later.
func (s *ruleScene) ask(task string) {
	s.framework.call("RECONCILE", object{"tasks": []any{object{"task_id": object{"value": task}}}})
	quiet := time.After(silence)
	for {
		select {
		case event := <-s.framework.frames:
			if event["type"] != "UPDATE" {
				s.framework.unread = append(s.framework.unread, event)
				continue
			}
			status := event["update"].(object)["status"].(object)
			if status["uuid"] != nil { // an update of the agent, which is not an answer
				s.framework.unread = append(s.framework.unread, event)
				continue
			}
			s.say("the master says: %s %s", task, strings.TrimPrefix(status["state"].(string), "TASK_"))
			return
		case <-quiet:
			s.say("the master is silent")
			return
		}
	}
}

// pause stops the executor, and waits until all its threads have stopped. Each thread runs until it receives the
// signal. On a busy machine that may be late enough to subscribe again.
func (s *ruleScene) pause() {
	s.must(syscall.Kill(s.pid, syscall.SIGSTOP))
	stopped := func() bool {
		stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.pid))
		s.must(err)
		for _, path := range stats {
			stat, err := os.ReadFile(path)
			if err == nil && !bytes.Contains(stat, []byte(") T ")) {
				return false
			}
		}
		return true
	}
	for end := time.Now().Add(deadline); !stopped(); <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatal("the executor does not stop")
		}
	}
}

// look records the state of the executor's process.
func (s *ruleScene) look() {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
	if err != nil || bytes.Contains(stat, []byte(") Z ")) {
		s.say("the executor's process is gone")
		return
	}
	var state string
	var parent, group, session int
	_, err = fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &parent, &group, &session)
	s.must(err)
	output, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/1", s.pid))
	s.must(err)
	var limit unix.Rlimit
	s.must(unix.Prlimit(s.pid, unix.RLIMIT_RTTIME, nil, &limit))
	s.say("the executor's process lives; session of its own: %v; output into a file of its sandbox: %v; marked: %v",
		session == s.pid, strings.HasPrefix(output, s.dir) && strings.HasSuffix(output, "/stdout"),
		limit.Cur >= 1<<62 && limit.Cur != unix.RLIM_INFINITY)
}

// forgetFork removes from the agent's journals what was recorded after the executor's start.
func (s *ruleScene) forgetFork() {
	found := false
	s.must(filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte(`{"k":"forked"`)) {
			return err
		}
		found = true
		var kept []byte
		for line := range bytes.Lines(data) {
			if !bytes.HasPrefix(line, []byte(`{"k":"forked"`)) {
				kept = append(kept, line...)
			}
		}
		return os.WriteFile(path, kept, 0o600)
	}))
	if !found {
		s.t.Fatal("no journal names a fork")
	}
}

// end ends everything that is still running.
func (s *ruleScene) end() {
	if s.pid != 0 {
		_ = syscall.Kill(s.pid, syscall.SIGCONT)
	}
	if s.squatter != nil {
		_ = s.squatter.Close()
	}
	if s.cluster == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := s.cluster.EndExecutors(ctx); err != nil {
		s.t.Error(err)
	}
	end(s.t, s.cluster)
}
