// Package kubernetes tests the whole system on a real Kubernetes: servers with --kubernetes, and what users see
// through the REST API and, of pods, through the API server. KUBERNETES_HOME names the Kubernetes, which root must
// run.
//
//	quick start    an app, a job, a run, its output; what kubectl shows of its pods
//	images         an app of an image, with a package and without
//	ends           exit status, memory, a missing image, package or script: state and reason
//	exclusive      leases of pods, and without one the wait for a node that is away
//	waits          no room, a cordoned node, a quota: explain
//	kill           a run that is killed leaves no process
//	names          jobs whose names are no DNS labels, or as long as they may be
//	daemons        each fire once; pods that are gone are replaced
//	webhooks       pods that one refuses, changes, or does not answer about
//	disruptions    eviction, preemption, a deadline; an expired watch; a deleted node and namespace that return
//	API faults     requests that the API server rejects for now
//	faults         the server, the API server, etcd, the kubelet, containerd: killed, frozen, and restarted
//	storm          two servers with a database: they and all of these are broken under load; every loss is reported
//
// Tests that break nothing share a Kubernetes, and each has a namespace of its own; tests that break one have their
// own. The jobs record what really ran in a ledger, in a folder of the machine that pods mount.
package kubernetes
