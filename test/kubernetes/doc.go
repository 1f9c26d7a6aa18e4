// Package kubernetes tests the whole system on a real Kubernetes: servers with --kubernetes, what users see through
// their REST API, and the pods that the API server shows. KUBERNETES_HOME names the Kubernetes. The tests need root.
//
//	quick start    an app, a job, a run, its output; what kubectl shows of its pods
//	images         an app of an image, with a package and without
//	ends           exit status, memory, a missing image, package or script: state and reason
//	exclusive      leases of pods; without a lease, a shard waits for a node that does not answer
//	waits          no room, a cordoned node, a quota: explain
//	kill           a run that is killed leaves no process
//	names          jobs whose names are no DNS labels, or as long as they may be
//	daemons        each fire once; pods that are gone are replaced
//	webhooks       a webhook refuses pods, changes them, or does not answer
//	disruptions    eviction, preemption, a deadline; an expired watch; a deleted node and namespace that return
//	API faults     requests that the API server rejects for now
//	faults         the server, the API server, etcd, the kubelet, containerd: killed, frozen, and restarted
//	storm          two servers with a database: they, the database and every part of the Kubernetes are broken under
//	               load; every loss is reported
//
// Tests that break nothing share a Kubernetes, and each has a namespace of its own; tests that break one have their
// own. The jobs record what really ran in a ledger, in a folder of the machine that pods mount.
package kubernetes
