package jobs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/app"
)

// Types of a task: TaskReady, or TaskFailover for an attempt after the shard was lost.
const (
	TaskReady    = "READY"
	TaskFailover = "FAILOVER"
)

// MaxAgentIDBytes is the maximum length of an agent id, so that it fits into every task and executor id. Mesos allows
// 255 bytes for an id. The other parts of a task id need up to 100 bytes for the job name, 4 for the item, 8 for the
// type, 36 for the UUID, and 3 for each of 4 delimiters. Mesos' own agent ids have about 50 bytes.
const MaxAgentIDBytes = maxIDBytes - 100 - 4 - 8 - 36 - 4*len(idDelimiter)

const (
	idDelimiter = "@-@"
	maxIDBytes  = 255
)

// TaskID is the id of one attempt to run one shard on one agent. The text of an id is only built from a TaskID and
// parsed; no code edits the text [D28].
type TaskID struct {
	Job   string
	Item  int
	Type  string // TaskReady or TaskFailover
	Agent string
	UUID  string
}

// String returns the id: job@-@item@-@type@-@agent@-@uuid.
func (t TaskID) String() string {
	return t.Name() + idDelimiter + t.UUID
}

// Name returns the id without the UUID, for users: job@-@item@-@type@-@agent.
func (t TaskID) Name() string {
	return strings.Join([]string{t.Job, strconv.Itoa(t.Item), t.Type, t.Agent}, idDelimiter)
}

const uuidLetters = "0123456789abcdefABCDEF-"

// ParseTaskID parses an id. It returns an error for an id that TaskID.String cannot have built from valid parts, such
// as the id of another framework's task.
func ParseTaskID(id string) (TaskID, error) {
	job, rest, _ := strings.Cut(id, idDelimiter)
	item, rest, _ := strings.Cut(rest, idDelimiter)
	taskType, rest, _ := strings.Cut(rest, idDelimiter)
	agent, uuid := cutLast(rest)
	n, err := strconv.Atoi(item)
	t := TaskID{Job: job, Item: n, Type: taskType, Agent: agent, UUID: uuid}
	validType := taskType == TaskReady || taskType == TaskFailover
	validUUID := uuid != "" && strings.Trim(uuid, uuidLetters) == ""
	if err != nil || n < 0 || t.String() != id || !isID(job, agent, id) || !validType || !validUUID {
		return TaskID{}, fmt.Errorf("task id %q was not made by this scheduler: it does not have the form "+
			"job@-@item@-@type@-@agent@-@uuid", id)
	}
	return t, nil
}

// ExecutorID is the id of one generation of an app's executor on an agent. N comes from a counter that never decreases
// (rule X1).
type ExecutorID struct {
	App   string
	Agent string
	N     int64
}

// String returns the id: app@-@agent@-@n.
func (e ExecutorID) String() string {
	return strings.Join([]string{e.App, e.Agent, strconv.FormatInt(e.N, 10)}, idDelimiter)
}

// ParseExecutorID parses an id. It returns an error for an id that ExecutorID.String cannot have built from valid
// parts, such as an id of the original, which has no generation.
func ParseExecutorID(id string) (ExecutorID, error) {
	name, rest, _ := strings.Cut(id, idDelimiter)
	agent, number := cutLast(rest)
	n, err := strconv.ParseInt(number, 10, 64)
	e := ExecutorID{App: name, Agent: agent, N: n}
	if err != nil || n < 0 || e.String() != id || !isID(name, agent, id) {
		return ExecutorID{}, fmt.Errorf("executor id %q was not made by this scheduler: it does not have the form "+
			"app@-@agent@-@n", id)
	}
	return e, nil
}

// cutLast splits a text at the last delimiter, because the id of an agent may contain delimiters. Without a delimiter,
// before is empty.
func cutLast(text string) (before, after string) {
	last := strings.LastIndex(text, idDelimiter)
	if last < 0 {
		return "", text
	}
	return text[:last], text[last+len(idDelimiter):]
}

// isID reports whether the whole id satisfies Mesos' rules for ids, and whether the name in it is valid for a job or an
// app.
func isID(name, agent, whole string) bool {
	isBad := func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' || r == '\\' }
	return len(app.CheckName("", name, nil)) == 0 && agent != "" && !strings.ContainsFunc(agent, isBad) &&
		len(whole) <= maxIDBytes
}
