package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
	"github.com/elasticjob-go/elasticjob/cluster/local/master"
)

const (
	// mostOrders is how many orders an agent may be behind before its session ends.
	mostOrders = 100_000
	// patience is how long one write or one call may take.
	patience = 10 * time.Second
)

// Server is the master's end. Its methods may be called concurrently.
type Server struct {
	master *master.Master
	log    *slog.Logger
	ctx    context.Context
	stop   context.CancelFunc

	mu       sync.Mutex
	sessions map[string]*remote // by id
	agents   map[string]*remote // by the agent's id: the newest of each
}

// NewServer serves m's agents. Close it before the HTTP server is shut down.
func NewServer(m *master.Master, log *slog.Logger) *Server {
	s := &Server{master: m, log: log, sessions: map[string]*remote{}, agents: map[string]*remote{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Close ends all sessions.
func (s *Server) Close() { s.stop() }

// Handler serves /agent/v1/.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+registerPath, s.register)
	mux.HandleFunc("POST "+callPath, s.call)
	return mux
}

func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	var asked registration
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, apihttp.MaxBody)).Decode(&asked); err != nil {
		apihttp.Refuse(w, http.StatusBadRequest, "Failed to read the registration: "+err.Error())
		return
	}
	info, still, err := asked.decode()
	if err != nil {
		apihttp.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	ctx, abandon := context.WithCancel(r.Context())
	defer abandon()
	defer context.AfterFunc(s.ctx, abandon)()
	a := &remote{session: uuid.NewString(), info: info, abandon: abandon, wake: make(chan struct{}, 1), pongs: map[uint64]func(){}}
	s.begin(a)
	defer s.end(a)
	if err := s.master.Register(a, still); err != nil {
		status := http.StatusServiceUnavailable
		if errors.Is(err, master.ErrGone) {
			status = http.StatusForbidden
		}
		apihttp.Refuse(w, status, err.Error())
		return
	}
	w.Header().Set(sessionHeader, a.session)
	w.Header().Set(silenceHeader, strconv.FormatFloat(s.master.AgentTimeout().Seconds(), 'f', 3, 64))
	w.Header().Set("Content-Type", "application/x-ndjson")
	if err := a.write(ctx, w); err != nil && ctx.Err() == nil {
		s.log.Warn("agent's link is broken", "agent", a.id(), "error", err)
	}
}

// begin makes a the session of its agent: an older one is over.
func (s *Server) begin(a *remote) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.agents[a.id()]; before != nil {
		before.abandon()
		delete(s.sessions, before.session)
	}
	s.sessions[a.session], s.agents[a.id()] = a, a
}

func (s *Server) end(a *remote) {
	a.close()
	s.mu.Lock()
	delete(s.sessions, a.session)
	if s.agents[a.id()] == a {
		delete(s.agents, a.id())
	}
	s.mu.Unlock()
	s.master.Disconnected(a)
}

func (s *Server) call(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	a := s.sessions[r.Header.Get(sessionHeader)]
	s.mu.Unlock()
	if a == nil {
		apihttp.Refuse(w, http.StatusGone, "The agent's session is over")
		return
	}
	var n news
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, apihttp.MaxBody)).Decode(&n)
	if err == nil {
		err = s.tell(a, &n)
	}
	if err != nil {
		apihttp.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) tell(a *remote, n *news) error {
	switch n.Kind {
	case newsUpdate:
		u := master.StatusUpdate{FrameworkID: n.Framework, Latest: mesos.TaskState(n.Latest)}
		if err := u.Status.Unmarshal(n.Status); err != nil {
			return fmt.Errorf("decode a status update: %w", err)
		}
		s.master.Update(a.id(), u)
	case newsEnded:
		s.master.ExecutorEnded(a.id(), n.Framework, n.Executor, n.WaitStatus)
	case newsMessage:
		s.master.Message(a.id(), n.Framework, n.Executor, n.Data)
	case newsPong:
		a.pong(n.Ping)
	default:
		return fmt.Errorf("news of kind %q are not known", n.Kind)
	}
	return nil
}

// remote is an agent in another process, for the time of one session. Orders wait in
// its queue; those after the session's end are dropped.
type remote struct {
	session string
	info    mesos.AgentInfo
	abandon context.CancelFunc
	wake    chan struct{}

	mu     sync.Mutex
	queue  []order
	closed bool
	pings  uint64
	pongs  map[uint64]func()
}

var _ master.AgentLink = (*remote)(nil)

func (a *remote) id() string { return a.info.GetID().GetValue() }

func (a *remote) push(o order) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	if len(a.queue) >= mostOrders {
		a.closed, a.queue = true, nil
		a.abandon()
		return
	}
	a.queue = append(a.queue, o)
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *remote) take() []order {
	a.mu.Lock()
	defer a.mu.Unlock()
	orders := a.queue
	a.queue = nil
	return orders
}

func (a *remote) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed, a.queue = true, nil
}

// write sends orders until the session ends.
func (a *remote) write(ctx context.Context, w http.ResponseWriter) error {
	control := http.NewResponseController(w)
	encoder := json.NewEncoder(w)
	w.WriteHeader(http.StatusOK)
	for {
		if err := control.SetWriteDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		for _, o := range a.take() {
			if err := encoder.Encode(o); err != nil {
				return err
			}
		}
		if err := control.Flush(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.wake:
		}
	}
}

// Info implements master.AgentLink.
func (a *remote) Info() mesos.AgentInfo { return a.info }

// RunTasks implements master.AgentLink.
func (a *remote) RunTasks(framework mesos.FrameworkInfo, tasks []mesos.TaskInfo) {
	info, err := framework.Marshal()
	encoded, failed := encodeAll(tasks)
	if err != nil || failed != nil {
		return // what came in protobuf goes out in it
	}
	a.push(order{Kind: orderRun, Info: info, Tasks: encoded})
}

// KillTask implements master.AgentLink.
func (a *remote) KillTask(frameworkID, taskID string, policy *mesos.KillPolicy) {
	o := order{Kind: orderKill, Framework: frameworkID, Task: taskID}
	if policy != nil {
		encoded, err := policy.Marshal()
		if err != nil {
			return // see RunTasks
		}
		o.Policy = &encoded
	}
	a.push(o)
}

// ShutdownExecutor implements master.AgentLink.
func (a *remote) ShutdownExecutor(frameworkID, executorID string) {
	a.push(order{Kind: orderShutdownExecutor, Framework: frameworkID, Executor: executorID})
}

// ShutdownFramework implements master.AgentLink.
func (a *remote) ShutdownFramework(frameworkID string) {
	a.push(order{Kind: orderShutdownFramework, Framework: frameworkID})
}

// Message implements master.AgentLink.
func (a *remote) Message(frameworkID, executorID string, data []byte) {
	a.push(order{Kind: orderMessage, Framework: frameworkID, Executor: executorID, Data: data})
}

// Acknowledge implements master.AgentLink.
func (a *remote) Acknowledge(frameworkID, taskID string, uuid []byte) {
	a.push(order{Kind: orderAcknowledge, Framework: frameworkID, Task: taskID, Data: uuid})
}

// Ping implements master.AgentLink.
func (a *remote) Ping(connected bool, pong func()) {
	a.mu.Lock()
	a.pings++
	n := a.pings
	if !a.closed && connected {
		a.pongs[n] = pong
	}
	a.mu.Unlock()
	a.push(order{Kind: orderPing, Connected: connected, Ping: n})
}

// pong answers a ping and all before it.
func (a *remote) pong(n uint64) {
	a.mu.Lock()
	var answered func()
	for i, pong := range a.pongs {
		if i == n {
			answered = pong
		}
		if i <= n {
			delete(a.pongs, i)
		}
	}
	a.mu.Unlock()
	if answered != nil {
		answered()
	}
}

// Subscribed implements master.AgentLink.
func (a *remote) Subscribed(framework mesos.FrameworkInfo) {
	if info, err := framework.Marshal(); err == nil { // see RunTasks
		a.push(order{Kind: orderSubscribed, Info: info})
	}
}
