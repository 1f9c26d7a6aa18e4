// Package kubernetes is the cluster of cluster.Driver on Kubernetes: each attempt of a shard is a pod, placed by the
// scheduler's own core.
//
// An agent is a node, and its id the node's name; a task is a pod, whose name is made of the task's id (package pod).
// There are no shared executors: each pod has its own, and takes what its shard takes.
//
// # The fence
//
// Kubernetes knows no subscription that a later one voids. A Lease per framework id stands for it: it names the
// session that holds it. Subscribe takes it over first, and lists the pods then. Launch creates the pods of a call,
// which nothing starts yet, reads the Lease, and binds them only if it still names this session. So a pod of a deposed
// leader was either bound before the list, and is known, or is unbound in it, and is deleted by uid before it can be
// bound: what one leader has launched is never started behind the back of the next.
//
// # A session
//
// Two watchers list nodes and pods and follow them (watch.go). What they bring is kept as accounts of nodes (nodes.go)
// and records of pods (pods.go): of others' pods what they take, of our own what package pod makes an update of. From
// the accounts come offers (offers.go): what is allocatable less what all pods request. Events leave in the order in
// which they were found out, through one queue.
//
// The Lease is renewed every few seconds, which is the session's heartbeat (lease.go). A session heals its watches,
// and nothing else: it ends when another session holds the Lease, or when it could not be renewed for 15 s.
//
// A pod has a finalizer until the core has acknowledged an update of it. So a pod that was bound, and whose launch the
// core never heard the answer of, can't be removed unseen; and a task that has no pod, though the lists are complete,
// has never begun or was known to the core. A pod that is given up gets it again before it is deleted, and the reason
// with it: its end says that the task never began, and stays until the core has committed that.
package kubernetes
