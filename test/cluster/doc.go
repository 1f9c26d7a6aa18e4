// Package cluster tests the promises of several servers on a cluster from outside: real ZooKeeper servers, a Mesos in
// a separate process, and servers of which one leads. All of them are killed, stopped and disconnected. The jobs
// record what really ran in a ledger.
package cluster
