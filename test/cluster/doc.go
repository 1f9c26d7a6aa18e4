// Package cluster tests from outside what several servers promise on a cluster: with ZooKeeper servers or a database, a
// cluster/local in a separate process, and servers of which one leads. All of them are killed, stopped and
// disconnected. The jobs record what really ran in a ledger.
package cluster
