package executor_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	mesosexec "github.com/mesos/mesos-go/api/v1/lib/executor"

	"github.com/elasticjob-go/elasticjob/test/scenario"
)

// TestScenarios plays testdata/*.txt against the real executor with real processes. Each file is named after the rule
// that it tests. The lines above "----" are commands; the lines below, up to an empty line, are what the agent then
// receives from the executor. The commands:
//
//	begin [recovery=DURATION]          start a new agent and its executor
//	launch TASK                        launch a task that waits to be ended
//	kill TASK, finish TASK             the agent kills the task; the task ends by itself
//	agent deaf|hears                   the agent acknowledges nothing; it acknowledges again
//	agent away|back|refuses 503|400    its connections break; it accepts new ones; it answers SUBSCRIBE with a status
//	executor killed                    with SIGKILL
//	await TASK STATE                   until the agent has that update
//	await subscription, await tries    until the executor has subscribed, or tried to several times
//	await end                          until the executor has ended
//	processes                          how many of the executor's tasks run
func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Play(t, "testdata/*.txt", func(t *testing.T, run func(testing.TB, scenario.Scene)) {
		run(t, &scene{t: t})
	})
}

// scene is an agent that executes the commands of a scenario, and returns what it received.
type scene struct {
	t     *testing.T
	agent *fakeAgent
	dir   string
	said  []string

	deafened      bool           // the agent was deaf once, so that updates stay unacknowledged on purpose
	subscriptions int            // number of subscriptions that Said has returned already
	updates       map[string]int // number of updates per task that Said has returned already
}

// Command executes a line of a scenario.
func (s *scene) Command(line string) error {
	if !s.command(append(strings.Fields(line), "", "")) {
		return errors.New("there is no such command")
	}
	return nil
}

func (s *scene) command(w []string) bool {
	switch w[0] + " " + w[1] {
	case "agent deaf":
		s.setSilent(true)
	case "agent hears":
		s.setSilent(false)
	case "agent away":
		s.agent.stop()
	case "agent back":
		s.back()
	case "agent refuses":
		s.setSubscribeStatus(w[2])
	case "executor killed":
		if err := s.agent.cmd.Process.Signal(syscall.SIGKILL); err != nil {
			s.t.Fatal(err)
		}
	case "await subscription", "await tries":
		more := 1
		if w[1] == "tries" {
			more = 3
		}
		s.agent.until("subscriptions", func() bool { return len(s.agent.subscribed) >= s.subscriptions+more })
	case "await end":
		status := s.agent.exit()
		mustBeEmpty(s.t, s.agent.cmd.Process.Pid)
		if status < 0 {
			s.say("the executor is dead, and no process of its tasks is left")
		} else {
			s.say("the executor has ended with status %d, and no process of its tasks is left", status)
		}
	default:
		return s.taskCommand(w)
	}
	return true
}

func (s *scene) taskCommand(w []string) bool {
	switch w[0] {
	case "begin":
		s.begin(w[1])
	case "launch":
		s.launch(w[1])
	case "kill":
		s.agent.kill(w[1])
	case "finish":
		if err := os.WriteFile(filepath.Join(s.dir, w[1]), nil, 0o644); err != nil {
			s.t.Fatal(err)
		}
	case "await":
		s.await(w[1], w[2])
	case "processes":
		s.say("%d tasks run", s.running())
	default:
		return false
	}
	return true
}

func (s *scene) say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

func (s *scene) begin(recovery string) {
	var options []option
	if _, d, ok := strings.Cut(recovery, "="); ok {
		options = append(options, env("MESOS_RECOVERY_TIMEOUT", d))
	}
	s.agent, s.dir = newAgent(s.t, options...), s.t.TempDir()
	s.subscriptions, s.updates = 0, map[string]int{}
}

// back listens at the agent's address again. Another connection may use its port as the local one: back waits until
// the port is free.
func (s *scene) back() {
	for end := time.Now().Add(deadline); time.Now().Before(end); <-time.After(5 * time.Millisecond) {
		if probe, err := net.Listen("tcp", s.agent.address); err == nil {
			_ = probe.Close()
			break
		}
	}
	s.agent.listen(s.agent.address)
}

// launch launches a task that writes its pid, ignores SIGTERM, and waits for the file that finish creates.
func (s *scene) launch(id string) {
	body := fmt.Sprintf(`trap '' TERM; echo $$ > %[1]s/%[2]s.pid; while [ ! -e %[1]s/%[2]s ]; do sleep 0.01; done`,
		s.dir, id)
	task := taskOf(id, script(s.t, body))
	task.KillGraceMillis = 20
	s.agent.launch(task)
}

func (s *scene) setSilent(silent bool) {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	s.agent.silent = silent
	s.deafened = true
}

func (s *scene) setSubscribeStatus(status string) {
	n, err := strconv.Atoi(status)
	if err != nil {
		s.t.Fatal(err)
	}
	s.agent.mu.Lock()
	s.agent.subscribeStatus = n
	if n == http.StatusOK {
		s.agent.subscribeStatus = 0
	}
	s.agent.mu.Unlock()
}

// await waits for a state of a task; for RUNNING also for its process.
func (s *scene) await(id, state string) {
	s.agent.until(state+" of task "+id, func() bool {
		return slices.ContainsFunc(s.agent.statesOf(id),
			func(u mesos.TaskStatus) bool { return u.GetState().String() == "TASK_"+state })
	})
	if state != "RUNNING" {
		return
	}
	for end := time.Now().Add(deadline); time.Now().Before(end); <-time.After(2 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(s.dir, id+".pid")); err == nil {
			return
		}
	}
	s.t.Fatalf("task %s has no process", id)
}

// running counts the tasks whose process is alive in the executor's session; a zombie does not count.
func (s *scene) running() (n int) {
	alive := inSession(s.agent.cmd.Process.Pid)
	files, err := filepath.Glob(filepath.Join(s.dir, "*.pid"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && slices.Contains(alive, pid) {
			n++
		}
	}
	return n
}

// Said returns what arrived since its last call: subscriptions, with equal ones in a row only once, then the new
// states of each task.
func (s *scene) Said() string {
	a := s.agent
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for _, sub := range a.subscribed[s.subscriptions:] {
		if line := s.subscription(sub); len(out) == 0 || out[len(out)-1] != line {
			out = append(out, line)
		}
	}
	s.subscriptions = len(a.subscribed)
	var ids []string
	for _, u := range a.updates {
		if !slices.Contains(ids, u.TaskID.Value) {
			ids = append(ids, u.TaskID.Value)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		all := a.statesOf(id)
		if len(all) == s.updates[id] {
			continue
		}
		var states []string
		for _, u := range all[s.updates[id]:] {
			states = append(states, stateOf(u))
		}
		s.updates[id] = len(all)
		out = append(out, "UPDATE "+id+" "+strings.Join(states, ", "))
	}
	out = append(out, s.said...)
	s.said = nil
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, "\n") + "\n"
}

func stateOf(u mesos.TaskStatus) string { return strings.TrimPrefix(u.GetState().String(), "TASK_") }

func (s *scene) subscription(sub mesosexec.Call_Subscribe) string {
	var tasks, updates []string
	for _, task := range sub.UnacknowledgedTasks {
		tasks = append(tasks, task.TaskID.Value)
	}
	for _, u := range sub.UnacknowledgedUpdates {
		updates = append(updates, u.Status.TaskID.Value+" "+stateOf(u.Status))
	}
	slices.Sort(tasks)
	slices.SortStableFunc(updates, func(a, b string) int {
		return strings.Compare(strings.Fields(a)[0], strings.Fields(b)[0])
	})
	if !s.deafened {
		return "SUBSCRIBE" // it is random whether the last acknowledgement has arrived
	}
	if len(tasks)+len(updates) == 0 {
		return "SUBSCRIBE"
	}
	return fmt.Sprintf("SUBSCRIBE, tasks not acknowledged: %s; updates not acknowledged: %s",
		strings.Join(tasks, ", "), strings.Join(updates, ", "))
}
