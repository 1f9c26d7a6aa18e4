// Package kubernetes holds the whole system to a real Kubernetes: servers with --kubernetes, and what users see of
// them by the REST API and of pods by the API server. The Kubernetes is that of KUBERNETES_HOME, and root runs it.
//
//	quick start    an app, a job, a run, its output; what kubectl shows of its pods
//	images         an app of an image, with a package and without
//	ends           exit status, memory, an image or a package that isn't there, a script that isn't there: state, reason
//	waits          no room, a cordoned node, a quota: explain
//	kill           a run that is killed leaves no process
//	names          jobs whose names are no DNS labels, or as long as they may be
//	daemons        each fire once; pods that are gone are replaced
//	webhooks       pods that one refuses, changes, or does not answer about
//	disruptions    eviction, preemption, a deadline; a watch that expired, a node and a namespace that are deleted and come back
//	API faults     requests that the API server puts off
//	faults         the server, the API server, etcd, the kubelet, containerd: killed, frozen, and started again
//	storm          two servers with a database: leader, database and all of these, under crons and triggers: none lost untold, none twice
//
// Tests that break nothing share a Kubernetes, each with a namespace of its own; what breaks one has its own. What
// really ran is in a ledger that the jobs write themselves, into a folder of the machine that pods mount.
package kubernetes
