// Package link joins an agent to a master that runs in another process, over HTTP:
// what they call each other in one process, master.AgentLink and master.Upstream, is
// sent instead. Mesos has messages of its own between the two, which no framework and no executor
// ever sees; these here are ours.
//
//	agent ── Client ── POST /agent/v1/register: all that the agent has ──▶ Server ── master
//	agent ◀── Client ◀── the answer's body: orders, one JSON per line ──── Server ◀── master
//	agent ── Client ── POST /agent/v1/call: news, one by one, in order ──▶ Server ── master
//
// One registration is one session. Its end, for whatever reason, makes the agent look for
// the leading master and register again, with all that it then has; what was on its
// way is lost, as with Mesos: updates are sent again, and launches that did not arrive are
// found out by the registration.
package link

import (
	"fmt"

	"github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster/local/master"
)

const (
	registerPath = "/agent/v1/register"
	callPath     = "/agent/v1/call"
	// sessionHeader names the session in a registration's answer and in all later calls.
	sessionHeader = "Agent-Session"
	// silenceHeader tells the agent after how long without any order the link is broken.
	silenceHeader = "Agent-Silence"
	// Realm is named to who comes without credentials.
	Realm = "local-cluster-agent"
)

// registration is what an agent begins with. Messages of Mesos are in protobuf.
type registration struct {
	Agent      []byte      `json:"agent"`
	Frameworks [][]byte    `json:"frameworks,omitempty"`
	Executors  [][]byte    `json:"executors,omitempty"`
	Tasks      []taskState `json:"tasks,omitempty"`
}

type taskState struct {
	Framework string `json:"framework"`
	Task      []byte `json:"task"`
	Latest    int32  `json:"latest"`           // mesos.TaskState
	Status    []byte `json:"status,omitempty"` // nil: none was told
}

// The kinds of orders.
const (
	orderRun               = "run"
	orderKill              = "kill"
	orderShutdownExecutor  = "shutdown-executor"
	orderShutdownFramework = "shutdown-framework"
	orderMessage           = "message"
	orderAcknowledge       = "acknowledge"
	orderPing              = "ping"
	orderSubscribed        = "subscribed"
)

// order is what the master asks of the agent: one call of master.AgentLink.
type order struct {
	Kind      string   `json:"kind"`
	Framework string   `json:"framework,omitempty"`
	Info      []byte   `json:"info,omitempty"` // FrameworkInfo
	Executor  string   `json:"executor,omitempty"`
	Task      string   `json:"task,omitempty"`
	Tasks     [][]byte `json:"tasks,omitempty"`
	Policy    *[]byte  `json:"policy,omitempty"` // KillPolicy
	Data      []byte   `json:"data,omitempty"`   // of a message; the uuid of an acknowledgement
	Connected bool     `json:"connected,omitempty"`
	Ping      uint64   `json:"ping,omitempty"`
}

// The kinds of news.
const (
	newsUpdate  = "update"
	newsEnded   = "ended"
	newsMessage = "message"
	newsPong    = "pong"
)

// news is what the agent tells its master: one call of master.Upstream, or a pong.
type news struct {
	Kind       string `json:"kind"`
	Framework  string `json:"framework,omitempty"`
	Executor   string `json:"executor,omitempty"`
	Status     []byte `json:"status,omitempty"`
	Latest     int32  `json:"latest,omitempty"` // mesos.TaskState
	WaitStatus int    `json:"wait_status,omitempty"`
	Data       []byte `json:"data,omitempty"`
	Ping       uint64 `json:"ping,omitempty"`
}

type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

func encodeAll[T any, P interface {
	*T
	message
}](all []T) ([][]byte, error) {
	encoded := make([][]byte, len(all))
	for i := range all {
		var err error
		if encoded[i], err = P(&all[i]).Marshal(); err != nil {
			return nil, fmt.Errorf("encode %T: %w", all[i], err)
		}
	}
	return encoded, nil
}

func decodeAll[T any, P interface {
	*T
	message
}](encoded [][]byte) ([]T, error) {
	all := make([]T, len(encoded))
	for i := range encoded {
		if err := P(&all[i]).Unmarshal(encoded[i]); err != nil {
			return nil, fmt.Errorf("decode %T: %w", all[i], err)
		}
	}
	return all, nil
}

func encodeRegistration(info mesos.AgentInfo, still master.Recovered) (r registration, err error) {
	if r.Agent, err = info.Marshal(); err != nil {
		return r, fmt.Errorf("encode AgentInfo: %w", err)
	}
	if r.Frameworks, err = encodeAll(still.Frameworks); err != nil {
		return r, err
	}
	if r.Executors, err = encodeAll(still.Executors); err != nil {
		return r, err
	}
	for i := range still.Tasks {
		s := &still.Tasks[i]
		t := taskState{Framework: s.FrameworkID, Latest: int32(s.Latest)}
		if t.Task, err = s.Task.Marshal(); err != nil {
			return r, fmt.Errorf("encode task %s: %w", s.Task.TaskID.Value, err)
		}
		if s.Status != nil {
			if t.Status, err = s.Status.Marshal(); err != nil {
				return r, fmt.Errorf("encode the status of task %s: %w", s.Task.TaskID.Value, err)
			}
		}
		r.Tasks = append(r.Tasks, t)
	}
	return r, nil
}

func (r *registration) decode() (info mesos.AgentInfo, still master.Recovered, err error) {
	if err = info.Unmarshal(r.Agent); err != nil {
		return info, still, fmt.Errorf("decode AgentInfo: %w", err)
	}
	if still.Frameworks, err = decodeAll[mesos.FrameworkInfo](r.Frameworks); err != nil {
		return info, still, err
	}
	if still.Executors, err = decodeAll[mesos.ExecutorInfo](r.Executors); err != nil {
		return info, still, err
	}
	for _, t := range r.Tasks {
		s := master.TaskState{FrameworkID: t.Framework, Latest: mesos.TaskState(t.Latest)}
		if err = s.Task.Unmarshal(t.Task); err != nil {
			return info, still, fmt.Errorf("decode a task: %w", err)
		}
		if t.Status != nil {
			s.Status = &mesos.TaskStatus{}
			if err = s.Status.Unmarshal(t.Status); err != nil {
				return info, still, fmt.Errorf("decode the status of task %s: %w", s.Task.TaskID.Value, err)
			}
		}
		still.Tasks = append(still.Tasks, s)
	}
	return info, still, nil
}
