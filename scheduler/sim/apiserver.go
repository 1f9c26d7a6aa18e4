package sim

import (
	"errors"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// apiServer is a Kubernetes with the driver in front of it, as one framework sees both: objects that outlive every
// session, and a Lease that names the session that may bind pods. Its nodes are agents, whose process is the kubelet.
type apiServer struct {
	w      *world
	fw     string
	holder *stream // holder of the Lease

	nodes map[string]*node
	pods  map[string]*simPod // by task

	stopped bool // offers are suppressed
	offering
}

// node is a node in the API.
type node struct {
	a         *agent
	epoch     int
	connected bool      // its kubelet is connected
	notReady  time.Time // since when, zero while it is ready
	other     resources.Amount
}

// simPod is the pod of a task.
type simPod struct {
	task, node string
	launch     cluster.TaskLaunch
	framework  string
	bound      bool
	handed     bool // its kubelet has received it
	// status is its reported status, with a uuid; nil while it is not bound.
	status *cluster.Update
	// runs are the updates about runs of a daemon that the pod's output contains. A new session reads all of them.
	runs []cluster.Update
	// unheard is set while the newest status is not acknowledged.
	unheard bool
	// seen is set when the scheduler has acknowledged a status; until then the pod's finalizer keeps it.
	seen bool
	// gone is set when it was removed and only the finalizer keeps it.
	gone bool
	// deleting is set when its deletion was requested, with this grace.
	deleting bool
	grace    time.Duration
}

// podExecutor is the prefix of the executor ids of pods; the task id follows.
const podExecutor = "of "

func newAPIServer(w *world) *apiServer {
	s := &apiServer{w: w, nodes: map[string]*node{}, pods: map[string]*simPod{}}
	s.offering = newOffering(w, 50*time.Millisecond, s.send, s.makeOffers)
	return s
}

func (s *apiServer) subscriber() *stream { return s.holder }

// isVoid returns false: the API accepts calls of every session, and only the Lease prevents a former one from starting
// anything.
func (s *apiServer) isVoid(*stream) bool { return false }

func (s *apiServer) send(e cluster.Event) {
	if s.holder != nil {
		s.w.trace.add("API server sends %s", shown{e})
		s.holder.send(e)
	}
}

// subscribe takes over the Lease, deletes all pods that were never bound, and lists the others.
func (s *apiServer) subscribe(to *stream, fw string) {
	if old := s.holder; old != nil {
		s.w.count(SecondSubscriber)
		old.send(cluster.FrameworkError{Message: "another session holds the Lease", FailedOver: true})
		old.open = false
	}
	s.holder, s.fw, s.stopped = to, fw, false
	clear(s.offers)
	clear(s.filters)
	s.send(cluster.Subscribed{FrameworkID: fw, MasterID: "api"})
	for _, id := range sorted(s.pods) {
		p := s.pods[id]
		if !p.bound {
			s.w.count(PodNeverBound)
			delete(s.pods, id)
			continue
		}
		for _, u := range p.runs {
			s.send(u)
		}
		s.sendPod(p)
	}
	s.allocate(s.w.between(time.Millisecond, 100*time.Millisecond))
}

func (s *apiServer) lost(old *stream) {
	if s.holder != old {
		return
	}
	old.open = false
	s.holder = nil
	clear(s.offers)
}

// sendPod reports the state of a pod, or that it cannot be known now.
func (s *apiServer) sendPod(p *simPod) {
	if n := s.nodes[p.node]; p.status != nil && !p.status.State.Terminal() && (n == nil || !n.notReady.IsZero()) {
		u := cluster.Update{
			TaskID: p.task, AgentID: p.node, State: cluster.Unreachable, Source: cluster.FromMaster,
			KillStored: p.deleting, Timestamp: s.w.wall(),
		}
		if n != nil {
			u.UnreachableSince = n.notReady
		}
		s.send(u)
		return
	}
	if p.status != nil {
		s.send(*p.status)
	}
}

func (s *apiServer) receive(by *session, call step.Call, done func(error)) {
	if launch, ok := call.(step.CallLaunch); ok {
		s.create(by, launch.Launch, done)
		return
	}
	defer done(nil)
	current := s.holder == by.stream
	switch c := call.(type) {
	case step.CallDecline:
		if current {
			s.decline(c.Offers, c.Refuse)
		}
	case step.CallRevive:
		if current {
			s.stopped = false
			clear(s.filters)
			s.allocate(s.w.latency())
		}
	case step.CallSuppress:
		s.stopped = s.stopped || current
	case step.CallKill:
		s.delete(c.Kill)
	case step.CallReconcile:
		s.reconcile(c.Tasks)
	case step.CallAcknowledge:
		s.acknowledge(c.Ack)
	}
}

// create makes the pods of a launch, which do not start yet. Then the driver reads the Lease, and binds them if the
// Lease still names its session.
func (s *apiServer) create(by *session, l cluster.Launch, done func(error)) {
	w := s.w
	good, free := s.holder == by.stream, resources.Amount{}
	for _, id := range l.OfferIDs {
		o := s.offers[id]
		if o == nil || o.agent != l.AgentID {
			good = false
			continue
		}
		free = free.Plus(o.res)
		delete(s.offers, id)
	}
	dropped := func(id string, reason cluster.Reason, message string) {
		s.send(cluster.Update{TaskID: id, AgentID: l.AgentID, State: cluster.Dropped, Source: cluster.FromMaster,
			Reason: reason, Message: message, Timestamp: w.wall()})
	}
	var made []*simPod
	for _, t := range l.Tasks {
		switch {
		case !good && s.holder == by.stream:
			w.count(OfferGone)
			dropped(t.TaskID, cluster.ReasonInvalidOffers, "the room on the node was taken")
		case s.pods[t.TaskID] != nil:
			w.fail("L5 a repeated launch has a new task id", "task %s is launched a second time", t.TaskID)
		case !t.Resources.Fits(free) && good:
			w.fail("agents are never over-committed", "task %s needs %s on %s, the offers have %s left", t.TaskID,
				t.Resources, l.AgentID, free)
		case t.Executor.ID != "":
			w.fail("tasks bring their own executors", "task %s is to run on executor %s", t.TaskID, t.Executor.ID)
		case good && w.roll(CreateRefused):
			dropped(t.TaskID, "", "exceeded quota: pods=10")
		default:
			free = free.Minus(t.Resources)
			p := &simPod{task: t.TaskID, node: l.AgentID, launch: t, framework: s.fw}
			s.pods[t.TaskID] = p
			made = append(made, p)
		}
	}
	s.refuse(l.AgentID, free, l.Refuse)
	w.after(w.latency(), func() { s.sweep(by, made) })
	bind := func() {
		if s.holder != by.stream {
			w.count(LeaseLost)
			s.sweep(by, made)
			done(errors.New("another session holds the Lease"))
			return
		}
		s.bindEach(by, made, done)
	}
	by.l.soon(w.latency(), bind) // done by the driver's process, if that lives
}

// bindEach binds pods one after the other, if they still exist. It does not read the Lease again, so another session
// may take the Lease meanwhile and delete pods that are not bound yet. A binding without an answer ends the session:
// that binding and those after it may happen later, or never.
func (s *apiServer) bindEach(by *session, made []*simPod, done func(error)) {
	w := s.w
	if len(made) == 0 {
		done(nil)
		return
	}
	bind := func(p *simPod) {
		if s.pods[p.task] == p && !p.bound {
			s.bind(p)
		}
	}
	if !w.roll(BindUnanswered) {
		bind(made[0])
		by.l.soon(w.between(0, 20*time.Millisecond), func() { s.bindEach(by, made[1:], done) })
		return
	}
	for _, p := range made {
		if w.rng.IntN(2) == 0 {
			w.after(w.between(0, time.Second), func() { bind(p) })
		}
	}
	by.stream.fail("a binding was not answered")
	done(errors.New("outcome unknown"))
}

// sweep deletes pods that a session has created and not bound, if another session holds the Lease. That session does it
// when its watch shows these pods.
func (s *apiServer) sweep(by *session, made []*simPod) {
	if s.holder == by.stream {
		return
	}
	for _, p := range made {
		if s.pods[p.task] == p && !p.bound {
			s.w.count(PodNeverBound)
			delete(s.pods, p.task)
		}
	}
}

// bind makes a pod's kubelet start it.
func (s *apiServer) bind(p *simPod) {
	p.bound = true
	s.setStatus(p, cluster.Update{State: cluster.Starting, Source: cluster.FromAgent,
		Status: &wire.Status{Phase: wire.PhaseFetch}})
	s.deliver(p)
	s.collectOrphaned(p)
}

// deliver passes a pod to its kubelet, if that is connected.
func (s *apiServer) deliver(p *simPod) {
	s.toKubelet(p.node, func(a *agent) {
		if p.handed || s.pods[p.task] != p || p.gone || p.status.State.Terminal() {
			return
		}
		p.handed = true
		if s.w.roll(KubeletRefuses) {
			s.setStatus(p, cluster.Update{State: cluster.Dropped, Source: cluster.FromAgent,
				Message: "Pod was rejected: Node didn't have enough resource: cpu"})
			return
		}
		l := p.launch
		l.Executor = cluster.Executor{ID: podExecutor + p.task, Framework: p.framework}
		a.run(l, true)
		if p.deleting {
			a.kill(p.task, p.grace)
		}
	})
}

// toKubelet delivers a change to a connected kubelet, in order. A kubelet that is not connected lists all pods when it
// is back.
func (s *apiServer) toKubelet(id string, do func(*agent)) {
	n := s.nodes[id]
	if n == nil || !n.connected {
		return
	}
	a, epoch := n.a, n.epoch
	at := max(a.inLast, s.w.now+s.w.latency())
	a.inLast = at
	s.w.after(at-s.w.now, func() {
		if a.epoch == epoch && a.online() {
			do(a)
		}
	})
}

// setStatus stores the reported status of a pod, and the watch forwards it. The first end is final.
func (s *apiServer) setStatus(p *simPod, u cluster.Update) {
	if p.status != nil && p.status.State.Terminal() {
		return
	}
	u.TaskID, u.AgentID, u.UUID, u.Timestamp = p.task, p.node, s.w.uuid(), s.w.wall()
	if u.Status != nil && u.Status.Run != nil && !u.State.Terminal() {
		p.runs = append(p.runs, u)
	}
	p.status, p.unheard = &u, true
	if u.State.Terminal() {
		s.allocate(s.w.between(time.Millisecond, 100*time.Millisecond))
	}
	s.sendPod(p)
}

// delete handles a DELETE with a grace period. A pod that is not bound is removed at once. The kubelet ends any other
// pod and reports its end.
func (s *apiServer) delete(k cluster.Kill) {
	p := s.pods[k.TaskID]
	if p == nil {
		s.sendGone(k.TaskID, k.AgentID)
		return
	}
	if !p.bound {
		delete(s.pods, k.TaskID)
		s.sendGone(k.TaskID, k.AgentID)
		return
	}
	if p.status.State.Terminal() {
		s.sendPod(p)
		return
	}
	news := !p.deleting
	p.deleting, p.grace = true, k.Grace
	if n := s.nodes[p.node]; news && (n == nil || !n.notReady.IsZero()) {
		s.sendPod(p)
	}
	s.toKubelet(p.node, func(a *agent) {
		if p.handed && a.tasks[p.task] != nil {
			a.kill(p.task, k.Grace)
		}
	})
}

// acknowledge removes the finalizer of a pod, and the pod itself if it has ended.
func (s *apiServer) acknowledge(ack cluster.Ack) {
	p := s.pods[ack.TaskID]
	if p == nil || p.status == nil {
		return
	}
	p.seen = true
	p.unheard = p.unheard && string(p.status.UUID) != string(ack.UUID)
	if p.status.State.Terminal() && string(p.status.UUID) == string(ack.UUID) || p.gone {
		delete(s.pods, ack.TaskID)
	}
}

func (s *apiServer) reconcile(tasks []cluster.TaskRef) {
	if len(tasks) == 0 {
		for _, id := range sorted(s.pods) {
			s.sendPod(s.pods[id])
		}
		return
	}
	for _, t := range tasks {
		if p := s.pods[t.TaskID]; p != nil && p.bound {
			s.sendPod(p)
		} else {
			s.sendGone(t.TaskID, t.AgentID)
		}
	}
}

// sendGone reports a pod that does not exist, or that no session will bind.
func (s *apiServer) sendGone(task, agent string) {
	s.send(cluster.Update{TaskID: task, AgentID: agent, State: cluster.Gone, Source: cluster.FromMaster,
		Reason:  cluster.ReasonReconciliation,
		Message: "there is no such pod", Timestamp: s.w.wall()})
}

func (s *apiServer) message(_ string, e cluster.Message) {
	if s.w.cfg.Deaf {
		e.Report = nil
	}
	e.ExecutorID = ""
	s.send(e)
}

// unheard reports whether the scheduler may not have committed everything that a pod has reported.
func (s *apiServer) unheard(task string) bool { return s.pods[task] == nil || s.pods[task].unheard }
