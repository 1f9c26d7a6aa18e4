// Package mesos is cluster.Driver over Apache Mesos' v1 scheduler API, for a
// real Mesos as for cluster/local, which speaks the same.
//
// Two kinds of HTTP request go to the leading master, both protobuf (mesos-go's
// JSON codec refuses enum values that it doesn't know, and a current master sends
// some):
//
//	SUBSCRIBE ─► one response that never ends: RecordIO frames, one event each
//	             frame ─► scheduler.Event ─► cluster.Event ─► Session.Events
//	a call    ─► cluster.* ─► scheduler.Call ─► POST with the stream's id ─► 202
//
// Driver opens the stream (driver.go), a session reads it and watches its
// heartbeats (session.go) and sends calls (calls.go). encode.go and decode.go hold the whole
// mapping between our types and those of Mesos, which stay inside this package. Files
// (files.go) reads sandboxes from the agents. Who we are is in credentials.go and
// tls.go; what TLS with Mesos takes, for executors as well, in package mesostls.
//
// mesos-go's generated types are used, but not its client: that one serialises
// calls behind a state machine of its own, retries and redirects them, and limits an
// event to 4 MiB, which the offers of some thousand agents exceed.
//
// # Who leads
//
// Masters that elect a leader in ZooKeeper each have a node there, named json.info_ and a number; the lowest number
// leads, and the node says where it listens (leader.go). That is read at each Subscribe, over one session of the
// Driver's own with ZooKeeper, and never remembered, so that a wrong answer lasts no longer than the attempt. An open
// session reads it twice a second: it ends with ErrNotLeading when ZooKeeper names another master or none, and goes on
// while ZooKeeper is away. Nothing is watched, since ZooKeeper itself needs seconds to find out that a master is gone,
// and two small reads a second miss nothing that a connection takes with it. Masters that are given by address name
// the leader themselves, by a redirect.
//
// # Ends and refusals
//
// A session never heals itself; the scheduler decides when to subscribe again (rule T6). Its Err
// distinguishes why it ended: the stream broke, the master was silent for five heartbeats
// (ErrSilent), it leads no longer (ErrNotLeading), or it said ERROR: framework removed, failed over, or else.
// refusal.go says what Subscribe's errors mean for an operator, and which flag to check.
//
// # Sent once (rule L3)
//
// A call is one http.Transport.RoundTrip: no redirect is followed, and the
// transport sends a POST without Idempotency-Key again in one case only, that an
// idle connection turned out to be dead before a single byte of the request
// was written to it. Then no master can have seen it. HTTP/2, whose transport has
// more such cases, is off. So a call's error is a *cluster.Refused when the master answered no, and
// otherwise says that the outcome is unknown.
package mesos
