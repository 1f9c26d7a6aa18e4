// Package mesos holds the whole system to Apache Mesos, and cluster/local to what that does: each test runs on both.
//
// ZooKeeper, masters, agents and servers are private processes on loopback; the Mesos is that of MESOS_HOME. What
// really ran is in a ledger that the jobs write themselves.
package mesos
