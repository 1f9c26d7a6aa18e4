// Package mesos implements cluster.Driver over the v1 scheduler API of Apache Mesos. It serves both a real Mesos and
// cluster/local, which speaks the same API.
//
// The driver sends two kinds of HTTP requests to the leading master. Both use protobuf, because current masters send
// enum values that mesos-go does not know, and its JSON codec rejects these:
//
//	SUBSCRIBE ─► one response that never ends: RecordIO frames, one event each
//	             frame ─► scheduler.Event ─► cluster.Event ─► Session.Events
//	a call    ─► cluster.* ─► scheduler.Call ─► POST with the stream's id ─► 202
//
// Driver opens the stream (driver.go). A session reads it, monitors its heartbeats (session.go) and sends calls
// (calls.go). encode.go and decode.go hold the whole mapping between the types of package cluster and those of Mesos,
// which do not leave this package. Files (files.go) reads sandboxes from the agents. credentials.go and tls.go hold
// the scheduler's identity; package mesostls holds the TLS settings that executors share.
//
// The package uses mesos-go's generated types but not its client. That client sends calls one after the other,
// retries and redirects them, and limits an event to 4 MiB, which the offers of a few thousand agents exceed.
//
// # The leading master
//
// Masters that elect a leader in ZooKeeper each have a node there, named json.info_ and a number. The master with the
// lowest number leads, and its node holds its address (leader.go). Each Subscribe reads the leader, over one ZooKeeper
// session that belongs to the Driver. The answer is never cached, so a wrong answer lasts no longer than one attempt.
// An open session reads the leader twice a second. It ends with ErrNotLeading when ZooKeeper names another master or
// none, and continues while ZooKeeper is unavailable. It sets no ZooKeeper watch. A watch would hardly be faster,
// because ZooKeeper itself needs seconds to notice that a master is gone, and its notification would get lost with the
// connection. Masters that are configured by address name the leader themselves, with a redirect.
//
// # Ends and refusals
//
// A session never reconnects; the scheduler decides when to subscribe again (rule T6). Err distinguishes why the
// session ended: the stream broke, the master was silent for five heartbeats (ErrSilent), the master no longer leads
// (ErrNotLeading), or it sent an ERROR event: framework removed, failed over, or another. refusal.go explains
// Subscribe's errors to an operator and names the flag to check.
//
// # Calls are sent once (rule L3)
//
// A call is one http.Transport.RoundTrip. It follows no redirect. The transport repeats a POST without Idempotency-Key
// in one case only: an idle connection turned out to be dead before a single byte of the request was written to it, so
// no master can have received the request. HTTP/2 is disabled, because its transport repeats requests in more cases. A
// call's error is therefore a *cluster.Refused when the master rejected the call, and otherwise says that the outcome
// is unknown.
package mesos
