// Package kubernetes implements cluster.Driver on Kubernetes. Each attempt of a shard is one pod, and the scheduler
// core places it, not the Kubernetes scheduler.
//
// An agent is a node, identified by the node's name. A task is a pod, whose name is derived from the task's id
// (package pod). There are no shared executors: each pod contains its own executor, which needs no resources beyond
// the shard's.
//
// # The fence
//
// Kubernetes has no subscription that a later one invalidates. A Lease per framework id takes that role: it names the
// session that holds it. Subscribe first takes the Lease over and then lists the pods. Launch creates the pods of a
// call unbound, so that they do not start. Then it reads the Lease, and binds the pods only if the Lease still names
// its session. A pod of a deposed leader was therefore either bound before the new leader's list, so that the new
// leader knows it, or it is unbound in that list. The new leader deletes an unbound pod by its UID before it can be
// bound. So no pod of a leader can start without the knowledge of the next leader.
//
// # A session
//
// Two watchers list nodes and pods and follow their changes (watch.go). The session keeps an account of each node
// (nodes.go) and a record of each pod (pods.go). The record of an unrelated pod holds the resources that the pod uses.
// The record of one of the framework's pods also holds what package pod needs to produce updates. pod.Report
// (pod/state.go, and pod/end.go for ends) translates the state of a pod into an update. Offers come from the accounts
// (offers.go): a node offers its allocatable resources less the requests of all of its pods. Events leave through one
// queue, in the order in which the session detected them.
//
// The session renews its Lease every few seconds; that is its heartbeat (lease.go). A session repairs its watches but
// nothing else. It ends when another session holds the Lease, or when it could not renew the Lease for 15 s.
//
// A pod has a finalizer until the core has acknowledged an update of the pod. So a pod that was bound by a Launch whose
// answer the core never received cannot disappear unnoticed. Once the lists are complete, a task without a pod has
// therefore either never begun, or the core knew its pod. A pod whose containers cannot be started is given up. Before
// it is deleted, it gets the finalizer again, together with the reason. Its end then reports that the task never began,
// and the pod stays until the core has committed that.
package kubernetes
