package jobs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/app"
)

// Types of a task: a first run of its shard, or one after it was lost.
const (
	TaskReady    = "READY"
	TaskFailover = "FAILOVER"
)

// MaxAgentIDBytes is the longest agent id that fits into every task and
// executor id: Mesos allows 255 bytes for an id, and a task id holds up to 100
// of job name, 4 of item, 8 of type, 36 of UUID and 4 delimiters of 3 beside
// it. Mesos's own agent ids have about 50.
const MaxAgentIDBytes = maxIDBytes - 100 - 4 - 8 - 36 - 4*len(idDelimiter)

const (
	idDelimiter = "@-@"
	maxIDBytes  = 255
)

// TaskID is the id of one attempt to run one shard on one agent, built from its
// parts and parsed again, never by replacing text [D28].
type TaskID struct {
	Job   string
	Item  int
	Type  string // TaskReady or TaskFailover
	Agent string
	UUID  string
}

// String writes the id: job@-@item@-@type@-@agent@-@uuid.
func (t TaskID) String() string {
	return t.Name() + idDelimiter + t.UUID
}

// Name is the task's name for people, without the UUID: job@-@item@-@type@-@agent.
func (t TaskID) Name() string {
	return strings.Join([]string{t.Job, strconv.Itoa(t.Item), t.Type, t.Agent}, idDelimiter)
}

// Validate says why Mesos, or ParseTaskID, would refuse the id; nil when they
// take it. Ids with a good job name, an item below 10,000, a UUID and an agent
// id of up to MaxAgentIDBytes are always good.
func (t TaskID) Validate() error {
	switch {
	case !isName(t.Job):
		return fmt.Errorf("task id %q: %q is no job name", t, t.Job)
	case t.Item < 0:
		return fmt.Errorf("task id %q: item %d is negative", t, t.Item)
	case t.Type != TaskReady && t.Type != TaskFailover:
		return fmt.Errorf("task id %q: type %q is neither %s nor %s", t, t.Type, TaskReady, TaskFailover)
	case t.UUID == "" || strings.Trim(t.UUID, uuidLetters) != "":
		return fmt.Errorf("task id %q: %q is no UUID", t, t.UUID)
	}
	if err := checkAgent(t.Agent, len(t.String())); err != nil {
		return fmt.Errorf("task id %q: %w", t, err)
	}
	return nil
}

const uuidLetters = "0123456789abcdefABCDEF-"

// ParseTaskID parses an id. Ids that TaskID.String did not make, such as
// another framework's, are an error and nothing worse.
func ParseTaskID(id string) (TaskID, error) {
	job, rest, ok1 := strings.Cut(id, idDelimiter)
	itemText, rest, ok2 := strings.Cut(rest, idDelimiter)
	kind, rest, ok3 := strings.Cut(rest, idDelimiter)
	// What an agent calls itself may hold the delimiter: its id ends at the last.
	last := strings.LastIndex(rest, idDelimiter)
	if !ok1 || !ok2 || !ok3 || last < 0 {
		return TaskID{}, fmt.Errorf("task id %q was not made by this scheduler: it does not have the form job@-@item@-@type@-@agent@-@uuid", id)
	}
	item, err := canonical(itemText)
	if err != nil {
		return TaskID{}, fmt.Errorf("task id %q was not made by this scheduler: item: %w", id, err)
	}
	t := TaskID{Job: job, Item: int(item), Type: kind, Agent: rest[:last], UUID: rest[last+len(idDelimiter):]}
	return t, t.Validate()
}

// ExecutorID is the id of one generation of an app's executor on an agent. N
// comes from a counter that never goes back (rule X1).
type ExecutorID struct {
	App   string
	Agent string
	N     int64
}

// String writes the id: app@-@agent@-@n.
func (e ExecutorID) String() string {
	return strings.Join([]string{e.App, e.Agent, strconv.FormatInt(e.N, 10)}, idDelimiter)
}

// Validate says why Mesos, or ParseExecutorID, would refuse the id; nil when
// they take it.
func (e ExecutorID) Validate() error {
	switch {
	case !isName(e.App):
		return fmt.Errorf("executor id %q: %q is no app name", e, e.App)
	case e.N < 0:
		return fmt.Errorf("executor id %q: generation %d is negative", e, e.N)
	}
	if err := checkAgent(e.Agent, len(e.String())); err != nil {
		return fmt.Errorf("executor id %q: %w", e, err)
	}
	return nil
}

// ParseExecutorID parses an id. Ids that ExecutorID.String did not make,
// such as the original's without a generation, are an error.
func ParseExecutorID(id string) (ExecutorID, error) {
	name, rest, ok := strings.Cut(id, idDelimiter)
	last := strings.LastIndex(rest, idDelimiter)
	if !ok || last < 0 {
		return ExecutorID{}, fmt.Errorf("executor id %q was not made by this scheduler: it does not have the form app@-@agent@-@n", id)
	}
	n, err := canonical(rest[last+len(idDelimiter):])
	if err != nil {
		return ExecutorID{}, fmt.Errorf("executor id %q was not made by this scheduler: generation: %w", id, err)
	}
	e := ExecutorID{App: name, Agent: rest[:last], N: n}
	return e, e.Validate()
}

func isName(name string) bool { return len(app.CheckName("", name, nil)) == 0 }

// canonical reads a number that is written in the one way that we write it, so
// that parsing an id and building it again gives the same id.
func canonical(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
		return 0, fmt.Errorf("%q is no number", text)
	}
	return n, nil
}

// checkAgent has Mesos's rules of ids.
func checkAgent(agent string, whole int) error {
	isBad := func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' || r == '\\' }
	switch {
	case agent == "":
		return fmt.Errorf("the agent's id is missing")
	case strings.ContainsFunc(agent, isBad):
		return fmt.Errorf("the agent's id %q holds a slash or a control character, which Mesos refuses", agent)
	case whole > maxIDBytes:
		return fmt.Errorf("it has %d bytes, Mesos allows %d", whole, maxIDBytes)
	}
	return nil
}
