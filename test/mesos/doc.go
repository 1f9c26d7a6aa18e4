// Package mesos runs the whole system on Apache Mesos, and compares cluster/local with it: each test runs on both.
//
// ZooKeeper, masters, agents and servers are private processes on the loopback interface. MESOS_HOME names the Mesos.
// The jobs record what really ran in a ledger.
package mesos
