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
// Driver finds the leader and opens the stream (driver.go), a session reads it
// and watches its heartbeats (session.go) and sends calls (calls.go). encode.go and
// decode.go hold the whole mapping between our types and those of Mesos, which stay
// inside this package. Files (files.go) reads sandboxes from the agents.
//
// mesos-go's generated types are used, but not its client: that one serialises
// calls behind a state machine of its own, retries and redirects them, and limits an
// event to 4 MiB, which the offers of some thousand agents exceed.
//
// # Sent once (rule L3)
//
// A call is one http.Transport.RoundTrip: no redirect is followed, and the
// transport sends a POST without Idempotency-Key again in one case only, that an
// idle connection turned out to be dead before a single byte of the request
// was written to it. Then no master can have seen it. HTTP/2, whose transport has
// more such cases, is off.
package mesos
