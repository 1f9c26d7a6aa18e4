// Package zookeeper is the registry in ZooKeeper 3.6 or later, for several schedulers of
// which one leads.
//
// # How it goes
//
// A campaign opens a session and stands in the election in the form of Curator's
// LeaderSelector, so that an ElasticJob-Cloud 3.0.1 which still runs and we exclude each other.
// The first candidate begins a term by one Multi (rule T1), and keeps that session to the term's
// end. A commit is one Multi that checks the election node, sets the fence from its last version
// and makes the writes (rule T2), so ZooKeeper itself refuses whoever is not the leader any more. An
// answer that got lost is asked for by sending the same again: the fence shows
// whether it was done (rule T3). The client library opens a new session by itself when one has expired;
// what it may then still send is refused by the check of the election node, which
// went with the old session. A term ends with its session, with its election node, when the fence is
// refused, and when nothing that left within the session timeout was answered; with nothing else. Servers count
// a session's time from when a request arrives, so we count from when it left: answers that come late, or are read
// late, lengthen no term. Any other refusal of a commit, such as a quota's, means that nothing was written, and the term goes on.
// What a commit removes beside its writes, the folders that it empties, fails none: where that is refused, such folders stay to the term's end.
//
// Beside it each open registry has a session that follows the election, for Leader. Sessions that are refused or of no
// use come with pauses that double up to 5 s; a server is of use once it has answered a request.
//
// A list is of one moment, since no commit happens meanwhile and nobody else writes. It
// takes bulk reads (opcode 22), and changes by others come from recursive watches (opcode
// 106). The client library has neither, so wire puts these requests between its own. Lists are read on
// a session of their own, so that over a slow link no heartbeat waits behind them. What they see
// is never older than the term (rule T1): the fence that is read there first has to show its latest commit.
//
// A node that may not be read is one entry that says so (Entry.Unreadable); its version comes from
// exists, for which nobody needs a permission, so it can be deleted where its parent's ACL
// lets us. ZooKeeper tells nothing of a changed ACL, and from 3.8.4 and 3.9.2 on its watches
// tell nothing of nodes that their owner may not read. So the term tries those that it knows
// of every second, and looks at all documents and disabled marks every 10 s (and 5 ms for each
// of them): a node that was made unreadable, or has become so, is found then.
//
// # When ZooKeeper goes back
//
// Stop all schedulers before ZooKeeper is restored from an older copy, or the namespace is emptied. What was done
// since the copy is not in it: fires and executions that have ended since count as open again, and
// may run twice. Terms that were there are no longer; a server that has seen them begins its own above, sees
// leaders of lower ones all the same, and warns. A server that has stood for election once takes nothing for
// hopeless any more: it waits for what is missing to come back, and warns.
//
// # Layout
//
// All below /<chroot>/<namespace>. What the original has too is in its places and formats; all that
// is under /brain is ours. "Leader" is the present term's holder, in its commits.
//
//	node                          value                    written by               read by                   goes
//	/config/app/{app}             document                 leader; people, console  leader: start, Changed    app deleted
//	/config/job/{job}             document                 leader; people, console  leader: start, Changed    job deregistered
//	/state/disable/app/{app}      name                     leader; people, console  leader: start, Changed    app enabled or deleted
//	/state/disable/job/{job}      name                     leader; people, console  leader: start, Changed    job enabled or deregistered
//	/state/ready/{job}            count                    the original             leader, once              taken over
//	/state/failover/{job}/{item}  task id                  the original             leader, once              taken over
//	/state/running/{job}/{item}   task id                  the original (daemons)   leader, once              taken over
//	/ha/framework_id              Mesos framework id       leader, original         leader: start             never
//	/ha/election/_c_{guid}-lock-{number}
//	                              the candidate's address  each candidate           all candidates, followers the session's end
//	/brain/fence                  "{term} {commit}"        leader, in every commit  the next leader, rule T3  never
//	/brain/term                   JSON: term, address,     leader, at its begin,    followers                 never
//	                              since, candidate         and when it was changed
//	/brain/mark                   how far fires were made  leader                   leader: start             never
//	/brain/counter                executor generations     leader                   leader: start             never
//	/brain/job/{job}              what is kept of a job    leader                   leader: start             job deregistered and its tasks over
//	/brain/execution/{id}         an execution's header    leader                   leader: start             its end is told and old
//	/brain/shards/{id}/{n}        a chunk of its shards    leader                   leader: start             with its header, or unnamed by it (T5)
//	/brain/executor/{id}          ExecutorInfo, state      leader                   leader: start             the executor is gone
//	/brain/ghost/{task}           a given-up task          leader                   leader: start             it is over, or 2 weeks
//	/brain/key/{key}              when it was used         leader                   leader: start             its time is over
//	/brain/old-framework/{id}     when it was removed      leader                   people                    never
//
// An entry's version is its node's. Nodes that are there only because others are below them
// are no entries: the folders of the original by their names, since Curator gives them a value
// of its own, and others by a value that marks them. A marked one goes with the last
// child. An entry that is made where a marked parent stands begins with that node's next version.
package zookeeper
