package term_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
	"github.com/elasticjob-go/elasticjob/test/scenario"
)

// TestScenarios plays testdata/*.txt: inputs of the machine, and below the line its effects. Effects that are not held
// are answered at once, with success. The commands are those of commands_test.go.
func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Play(t, "testdata/*.txt", func(_ *testing.T, run func(testing.TB, scenario.Scene)) { run(t, newScene()) })
}

// scene is a machine with a registry and a cluster that do as its commands say.
type scene struct {
	machine *term.Machine
	now     time.Duration
	words   *scenario.Names
	out     strings.Builder

	entries map[string]registry.Entry
	offers  int
	asked   uint64
	session int64
	// subscribe is the result of the next attempts to subscribe, nil for a session; standby is the answer to
	// AskStandby.
	subscribe error
	standby   bool
	// hold names the effects that wait for an answer by command: commits, reads, calls.
	hold    map[string]bool
	commits []term.Commit
	reads   []term.Read
	calls   []term.Call
}

var epoch = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func newScene() *scene {
	c := core.New(step.DefaultOptions())
	s := &scene{words: scenario.NewNames(), entries: map[string]registry.Entry{}, hold: map[string]bool{}}
	if err := c.Load(epoch, core.Stored{}); err != nil {
		panic(err)
	}
	s.machine = term.New(c, rand.NewPCG(1, 2), term.Options{RefusedTimeout: time.Minute})
	return s
}

// settles is how long each command may take to have its effects.
const settles = 10 * time.Millisecond

// Command executes a line.
func (s *scene) Command(line string) error {
	name, w, err := scenario.Split(line)
	if err != nil {
		return err
	}
	do := commands()[name]
	if do == nil {
		return fmt.Errorf("there is no command %q", name)
	}
	s.tick()
	do(s, w)
	s.run(settles)
	if len(w.List) > 0 {
		return fmt.Errorf("what is %q", w.List)
	}
	return w.Err
}

// Said returns the reports since its last call.
func (s *scene) Said() string {
	text := s.out.String()
	s.out.Reset()
	return text
}

func (s *scene) say(format string, args ...any) {
	s.out.WriteString(s.words.InWords(fmt.Sprintf(format, args...)) + "\n")
}

func (s *scene) tick() { s.machine.Tick(clock.Now{Wall: epoch.Add(s.now), Elapsed: s.now}) }

// run lets time pass, and calls Ready whenever the machine requests it.
func (s *scene) run(d time.Duration) {
	for end := s.now + d; ; {
		s.tick()
		for {
			effects := s.machine.Ready()
			if len(effects) == 0 {
				break
			}
			for _, e := range effects {
				s.do(e)
			}
		}
		at, ok := s.machine.Wake()
		if !ok || at > end || s.machine.Done() {
			s.now = end
			s.tick()
			return
		}
		s.now = max(at, s.now)
	}
}

func (s *scene) do(e term.Effect) {
	switch e := e.(type) {
	case term.Commit:
		if len(e.Writes) > 0 || s.subscribe == nil { // otherwise it is an attempt to subscribe that fails
			s.say("COMMIT %s", cmp.Or(paths(e.Writes), "nothing but the fence"))
		}
		s.commits = append(s.commits, e)
		s.unlessHeld("commits", "answer", "commit")
	case term.Read:
		s.say("READ %s", scenario.Shorten(e.Paths))
		s.reads = append(s.reads, e)
		s.unlessHeld("reads", "answer", "read")
	case term.Call:
		s.say("CALL %d %s", e.ID, s.showCall(e.Call))
		s.calls = append(s.calls, e)
		s.unlessHeld("calls", "answer", "call", fmt.Sprint(e.ID))
	case term.Subscribe:
		s.subscribes(e)
	case term.CloseSession:
		s.say("CLOSE session %d", e.Session)
	case term.AskStandby:
		s.say("ASK for a standby")
		if s.standby {
			s.machine.StandbyWaits()
		}
	case term.Answer:
		text := "done"
		if e.Err != nil {
			text = e.Err.Code + ": " + e.Err.Message
		}
		s.say("ANSWER %d %s", e.Token, cmp.Or(e.ExecutionID, text))
	case term.Log:
		s.say("LOG %s %v", e.Message, e.Attrs)
	case term.Drained:
		s.say("DRAINED")
	case term.Ended:
		s.say("ENDED %v", e.Err)
	}
}

func (s *scene) unlessHeld(what, command string, words ...string) {
	if !s.hold[what] {
		commands()[command](s, &scenario.Words{List: append(words, "ok")})
	}
}

func (s *scene) subscribes(e term.Subscribe) {
	if s.subscribe != nil {
		s.machine.SessionEnded(e.Session, s.subscribe)
		return
	}
	s.say("SUBSCRIBE %d", e.Session)
	s.session = e.Session
	s.machine.Opened(e.Session)
	s.machine.ClusterEvent(e.Session, cluster.Subscribed{FrameworkID: e.FrameworkID, MasterID: "master-1"})
}

// commit makes a commit, if its conditions are met.
func (s *scene) commit(c term.Commit) error {
	for _, w := range c.Writes {
		if e, there := s.entries[w.Path]; !w.If.Met(there, e.Version) {
			return &registry.Conflict{Path: w.Path}
		}
	}
	for _, w := range c.Writes {
		if w.Delete {
			delete(s.entries, w.Path)
		} else {
			s.put(w.Path, w.Value)
		}
	}
	return nil
}

func (s *scene) put(path string, value []byte) {
	e, there := s.entries[path]
	e.Path, e.Value = path, value
	if there {
		e.Version++
	}
	s.entries[path] = e
}

func (s *scene) document(path string) term.Document {
	e, there := s.entries[path]
	if !there {
		return term.Document{Path: path, Err: registry.ErrNotFound}
	}
	return term.Document{Path: path, Entry: e}
}

func paths(writes []registry.Write) string {
	list := make([]string, len(writes))
	for i, w := range writes {
		list[i] = w.Path
	}
	slices.Sort(list)
	return scenario.Shorten(list)
}

// task returns a task's name.
func (s *scene) task(id string) string {
	parsed, err := jobs.ParseTaskID(id)
	if err != nil {
		return err.Error()
	}
	return s.words.Called(id, fmt.Sprintf("%s/%d#", parsed.Job, parsed.Item))
}

func (s *scene) showCall(call step.Call) string {
	switch c := call.(type) {
	case step.CallLaunch:
		var tasks []string
		for _, t := range c.Launch.Tasks {
			tasks = append(tasks, s.task(t.TaskID))
		}
		return fmt.Sprintf("ACCEPT on %s: launch %s", c.Launch.AgentID, strings.Join(tasks, ", "))
	case step.CallKill:
		return "KILL " + c.Kill.TaskID
	case step.CallAcknowledge:
		return "ACKNOWLEDGE " + string(c.Ack.UUID) + " of " + c.Ack.TaskID
	case step.CallShutdown:
		return "SHUTDOWN " + c.ExecutorID
	case step.CallReconcile:
		var tasks []string
		for _, t := range c.Tasks {
			tasks = append(tasks, s.task(t.TaskID))
		}
		return "RECONCILE " + cmp.Or(strings.Join(tasks, ", "), "everything")
	case step.CallRevive:
		return "REVIVE"
	case step.CallSuppress:
		return "SUPPRESS"
	}
	return strings.ToUpper(strings.TrimPrefix(strings.SplitN(fmt.Sprintf("%T", call), " ", 2)[0], "step.Call"))
}

// failures are the errors with which a commit, a read, a call or SUBSCRIBE may be answered.
var failures = map[string]error{
	"unknown": fmt.Errorf("the session is gone: %w, its last commit %w", registry.ErrTermEnded,
		registry.ErrOutcomeUnknown),
	"fenced":      fmt.Errorf("term 2 has begun: %w", registry.ErrTermEnded),
	"unusable":    fmt.Errorf("%w: the disk is full", registry.ErrUnusable),
	"too-large":   registry.ErrTooLarge,
	"denied":      errors.New("no permission"),
	"lost":        errors.New("no answer"),
	"refused":     &cluster.Refused{Status: 401, Message: "who are you"},
	"not-ready":   &cluster.Refused{Status: 503, Message: "recovering"},
	"unreachable": errors.New("connection refused"),
	"removed":     cluster.FrameworkError{Message: "Framework has been removed", Removed: true},
}
