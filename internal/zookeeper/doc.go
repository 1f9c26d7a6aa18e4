// Package zookeeper implements one session with ZooKeeper on top of the unmodified go-zookeeper/zk. The registry uses
// it, and so does the detection of Mesos' leading master.
//
// A Client is exactly one session. The library itself would open another session after an expiry and continue with the
// queued requests. A Client prevents that: after its end it never connects again. Its owner creates another Client if
// needed.
//
// In the library a request waits for a connection without limit, and takes no context; Do runs requests on a goroutine
// of their own, so that the caller may leave. When a connection breaks, the answers under way are lost, so the outcome
// of those requests is unknown. Answered tells a server's answer from such a silence. Ask repeats a read request until
// there is an answer.
//
// # Silence
//
// A session has ended when no request that was sent within its timeout was answered; a ping each second detects that.
// Servers measure a session's time from the arrival of a request, so the Client measures it from before the sending.
// Late answers, or answers that are read late, therefore do not lengthen a session, and it ends here before ZooKeeper
// ends it. The timeout that counts is the one that the servers grant, which may be shorter than the requested one.
//
// # Watches
//
// When a connection begins, the library sets all its watches again, as of the last transaction that it has seen. It
// reads that number without a lock while answers on the new connection may already change it, and a number that is too
// new hides earlier changes. So a session with watches (Options.Watch) ends with its connection. The next session
// begins by reading everything, and no watch is carried over. Watches are set a moment after the beginning of the
// session; see registry/zookeeper, the only user of watches, for the reason.
package zookeeper
