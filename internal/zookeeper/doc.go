// Package zookeeper is one session with ZooKeeper, over go-zookeeper/zk as it is. The registry lives on it, and
// Mesos' leading master is found by it.
//
// A Client is a session from its beginning to its end, and never more than that: the library would open another one
// by itself when a session has expired, and go on with whatever waits to be sent, so a Client that has ended
// connects to nothing. Its owner makes another one where one is needed.
//
// The library lets a request wait for a connection, however long that takes, and takes no context: Do runs requests
// beside a caller that may leave earlier. A connection that breaks takes the answers with it that were under way, so
// nobody knows what became of those requests. Answered says whether an error is such a silence or a server's answer;
// Ask repeats a request that only reads until there is one.
//
// # Silence
//
// A session is over when no request that left within its timeout was answered, which a request each second finds out.
// Servers count a session's time from when a request arrives, so the Client counts from before it was sent: answers
// that come late, or are read late, lengthen no session, and it ends here before ZooKeeper ends it there. The timeout
// that counts is the one that the servers grant, which may be shorter than what is asked for.
//
// # Watches
//
// When a connection begins, the library sets all watches again that it still has, as of the last transaction that it
// has seen. It reads that number without a lock, while answers on the new connection may already change it: a number
// that is too new hides the changes before it. So a session with watches (Options.Watch) ends with its connection. The
// next one begins with a look at everything, and no watch is ever carried over. Watches are set when the session has
// lasted a moment; why is said in registry/zookeeper, which alone has some.
package zookeeper
