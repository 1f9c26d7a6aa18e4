package sim

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// register handles a kubelet that is back, or new: it posts its node's status, and lists its pods.
func (s *apiServer) register(a *agent) {
	w := s.w
	n := s.nodes[a.id]
	if n == nil {
		n = &node{a: a}
		s.nodes[a.id] = n
	}
	wasAway := !n.notReady.IsZero()
	n.a, n.connected, n.epoch, n.notReady, a.with = a, true, a.epoch, time.Time{}, s
	w.trace.add("node %s is ready", a.id)
	if wasAway {
		w.count(UnreachableBack)
	}
	for _, id := range sorted(s.pods) {
		p := s.pods[id]
		if p.node != a.id || !p.bound {
			continue
		}
		if wasAway {
			s.sendPod(p)
		}
		s.deliver(p)
		if p.deleting {
			s.toKubelet(a.id, func(a *agent) {
				if a.tasks[p.task] != nil {
					a.kill(p.task, p.grace)
				}
			})
		}
	}
	for _, id := range sorted(a.tasks) { // it ends pods that the API no longer has
		if p := s.pods[id]; p == nil || p.gone {
			s.toKubelet(a.id, func(a *agent) {
				if a.tasks[id] != nil {
					a.kill(id, w.opt.KillGrace)
				}
			})
		}
	}
	s.allocate(w.between(time.Millisecond, 100*time.Millisecond))
}

// disconnected handles the end of a kubelet's connection. Nothing renews the node's Lease from then on, which the node
// controller finds out after a while.
func (s *apiServer) disconnected(a *agent, was int) {
	n := s.nodes[a.id]
	if n == nil || !n.connected || n.epoch != was {
		return
	}
	n.connected = false
	s.w.after(s.w.between(40*time.Second, 50*time.Second), func() {
		if s.nodes[a.id] == n && !n.connected && n.epoch == was {
			s.notReady(n)
		}
	})
}

func (s *apiServer) notReady(n *node) {
	s.w.count(AgentUnreachable)
	n.notReady = s.w.wall()
	n.a.markAway()
	s.rescind(n.a.id)
	for _, id := range sorted(s.pods) {
		if p := s.pods[id]; p.node == n.a.id && p.bound {
			s.sendPod(p)
		}
	}
}

// update stores a status that a kubelet writes, once: the kubelet does not repeat it. The container shows how the
// process of a task ended.
func (s *apiServer) update(a *agent, u cluster.Update, _ string, _ cluster.State) {
	s.toKubelet(a.id, func(a *agent) { a.acknowledge(u.TaskID, u.UUID) })
	p := s.pods[u.TaskID]
	if p == nil || p.gone || p.status == nil || u.State == cluster.Starting {
		return
	}
	if t := a.tasks[u.TaskID]; t != nil && u.Source == cluster.FromAgent && t.last != nil {
		u.Source = cluster.FromExecutor // its container had run
		if u.Reason == cluster.ReasonExecutorTerminated || u.Reason == cluster.ReasonContainerLaunchFailed {
			u.State, u.Reason = cluster.Lost, ""
		}
		u.Status = &wire.Status{StartTime: t.start, Cause: u.Message, Totals: t.counts(), Run: t.cutRun(u.State)}
	}
	u.ExecutorID = ""
	s.setStatus(p, u)
}

// executorEnded does nothing, because the end of a container is reported as the end of its task.
func (s *apiServer) executorEnded(*agent, string, int) {}

// deletePod deletes or evicts a pod without a request of the scheduler.
func (s *apiServer) deletePod(p *simPod) {
	s.delete(cluster.Kill{TaskID: p.task, AgentID: p.node, Grace: s.w.opt.KillGrace})
}

// forceDelete removes a pod without waiting for its kubelet, as an operator does who says that the pod has ended, or
// the node controller after the pod's node was deleted.
func (s *apiServer) forceDelete(p *simPod) {
	p.gone = true
	s.setStatus(p, cluster.Update{State: cluster.GoneByOperator, Source: cluster.FromMaster,
		Reason: cluster.ReasonTaskRemoved, Message: "its pod was removed from the API"})
	if p.seen {
		delete(s.pods, p.task) // its reports are removed with it
	}
	s.toKubelet(p.node, func(a *agent) {
		if a.tasks[p.task] != nil {
			a.kill(p.task, s.w.opt.KillGrace)
		}
	})
}

// deleteNode acts as the node controller when a machine is permanently gone.
func (s *apiServer) deleteNode(id string) {
	if s.nodes[id] == nil {
		return
	}
	s.rescind(id)
	delete(s.nodes, id)
	s.send(cluster.Failure{AgentID: id, Gone: true})
	for _, task := range sorted(s.pods) {
		if p := s.pods[task]; p.node == id && p.bound {
			s.forceDelete(p)
		}
	}
}

// collectOrphaned acts as the pod garbage collector, which removes a pod whose node does not exist: it looks every 20
// seconds, and waits 40 seconds for the node. A pod can be bound to a node that was deleted just before.
func (s *apiServer) collectOrphaned(p *simPod) {
	if s.nodes[p.node] != nil {
		return
	}
	s.w.after(s.w.between(40*time.Second, time.Minute), func() {
		if s.pods[p.task] == p && s.nodes[p.node] == nil {
			s.forceDelete(p)
		}
	})
}

// deleteSome deletes a running pod, or removes one by force. If its kubelet is connected, it then ends the pod.
func (s *apiServer) deleteSome(force bool) bool {
	var some []string
	for _, id := range sorted(s.pods) {
		p := s.pods[id]
		n := s.nodes[p.node]
		if p.bound && !p.gone && !p.status.State.Terminal() && (force || n != nil && n.notReady.IsZero()) {
			some = append(some, id)
		}
	}
	id, ok := pick(s.w, some)
	switch {
	case !ok:
		return false
	case force:
		if n := s.nodes[s.pods[id].node]; n == nil || !n.connected {
			s.w.forgotten[id] = true // it may run as long as no update reports it
		}
		s.forceDelete(s.pods[id])
	default:
		s.deletePod(s.pods[id])
	}
	return true
}

// takeSpace makes other users take half of the free room of a node for a while.
func (s *apiServer) takeSpace(id string) bool {
	n := s.nodes[id]
	if n == nil || !n.notReady.IsZero() {
		return false
	}
	s.rescind(id)
	free := s.free(n)
	n.other = n.other.Plus(resources.Amount{CPUMilli: max(free.CPUMilli/2, 0), MemMilli: max(free.MemMilli/2, 0)})
	s.w.after(s.w.between(time.Second, time.Minute), func() {
		n.other = resources.Amount{}
		s.allocate(time.Millisecond)
	})
	s.allocate(time.Millisecond)
	return true
}
