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

const uuidLetters = "0123456789abcdefABCDEF-"

// ParseTaskID parses an id. Ids that TaskID.String did not make of good parts, such as
// another framework's, are an error and nothing worse.
func ParseTaskID(id string) (TaskID, error) {
	job, rest, _ := strings.Cut(id, idDelimiter)
	item, rest, _ := strings.Cut(rest, idDelimiter)
	kind, rest, _ := strings.Cut(rest, idDelimiter)
	agent, uuid := cutLast(rest)
	n, err := strconv.Atoi(item)
	t := TaskID{Job: job, Item: n, Type: kind, Agent: agent, UUID: uuid}
	if err != nil || n < 0 || t.String() != id || !isID(job, agent, id) ||
		kind != TaskReady && kind != TaskFailover || uuid == "" || strings.Trim(uuid, uuidLetters) != "" {
		return TaskID{}, fmt.Errorf("task id %q was not made by this scheduler: it does not have the form job@-@item@-@type@-@agent@-@uuid", id)
	}
	return t, nil
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

// ParseExecutorID parses an id. Ids that ExecutorID.String did not make of good parts,
// such as the original's without a generation, are an error.
func ParseExecutorID(id string) (ExecutorID, error) {
	name, rest, _ := strings.Cut(id, idDelimiter)
	agent, number := cutLast(rest)
	n, err := strconv.ParseInt(number, 10, 64)
	e := ExecutorID{App: name, Agent: agent, N: n}
	if err != nil || n < 0 || e.String() != id || !isID(name, agent, id) {
		return ExecutorID{}, fmt.Errorf("executor id %q was not made by this scheduler: it does not have the form app@-@agent@-@n", id)
	}
	return e, nil
}

// cutLast cuts at the last delimiter: what an agent calls itself may hold others.
func cutLast(text string) (before, after string) {
	last := strings.LastIndex(text, idDelimiter)
	if last < 0 {
		return "", text
	}
	return text[:last], text[last+len(idDelimiter):]
}

// isID has Mesos's rules of ids, and ours of the names in them.
func isID(name, agent, whole string) bool {
	isBad := func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' || r == '\\' }
	return len(app.CheckName("", name, nil)) == 0 && agent != "" && !strings.ContainsFunc(agent, isBad) &&
		len(whole) <= maxIDBytes
}
