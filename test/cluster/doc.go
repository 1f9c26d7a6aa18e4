// Package cluster tests what several servers on a cluster promise, from outside: real ZooKeeper servers, a Mesos that
// is a process of its own, and servers, of which one leads. Everything is killed, stopped and cut off;
// what really ran is in a ledger that the jobs write themselves.
package cluster
