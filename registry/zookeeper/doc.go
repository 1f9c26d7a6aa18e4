// Package zookeeper is the registry in ZooKeeper, for several schedulers of
// which one leads.
//
// # Terms
//
// A campaign opens a session and stands in the election in the form of Curator's LeaderSelector, so that an
// ElasticJob-Cloud 3.0.1 which still runs and we exclude each other. The first candidate begins a term by one Multi
// (rule T1), and keeps that session to the term's end. A commit is one Multi that checks the election node, sets the
// fence from its last version and makes the writes (rule T2), so ZooKeeper itself refuses whoever is not the leader
// any more. An answer that got lost is asked for by sending the same again: the fence shows whether it was done (rule
// T3). Any other refusal of a commit, such as a quota's, means that nothing was written, and the term goes on. A
// commit that is too large for one Multi is staged, named by one, and applied (rule T5); see term.stage.
//
//	writes ─► plan ─► operations ─► write ─► send ─► Multi: election node, fence, operations
//	            ▲                     ▲ one that was planned wrongly   │
//	            │                     └── refit ◄──────────────────────┤ refused
//	          known ◄──────────────────────────────────────────────────┘ done
//
// A condition of a write is an operation's version, for ZooKeeper to check. Whether an operation without one creates
// or sets a node is planned on what the term knows (known); where that is wrong, ZooKeeper refuses the Multi, and the
// refusal shows what is so.
//
// A term ends with its session, with its election node, when the fence is refused or another's, and with nothing else.
// When a session ends is said in package zookeeper: it is over here before ZooKeeper can give the lead to another.
//
// # Reading
//
// All that the term reads is read on its own session, so it is never older than the term (rule T1), nor than its
// commits. A list is of one moment, since no commit happens meanwhile and nobody else writes, but for documents and
// marks.
//
// Beside the term's session there is one that looks at the election several times a second for as long as the registry
// is open, for Leader: the first candidate leads once the fence names it. Shared values are read and written on it.
// And while a term lasts there is one that watches the documents and disabled marks, for Changed.
//
// A node that may not be read is one entry that says so (Entry.Unreadable); its version comes from
// exists, for which nobody needs a permission, so it can be deleted where its parent's ACL lets us.
//
// # When ZooKeeper goes back
//
// Stop all schedulers before ZooKeeper is restored from an older copy, or the namespace is emptied. What was done
// since the copy is not in it: fires and executions that have ended since count as open again, and
// may run twice. Terms that were there are no longer; a server that has seen them begins its own above, sees
// leaders of lower ones too, and warns. A server that has stood for election once takes nothing for
// hopeless any more: it waits for what is missing to come back, and warns.
//
// # Layout
//
// All below /<chroot>/<namespace>. What the original has too is in its places and formats; all that is under /registry
// is ours, and flat: the name of an entry's node is its escaped path, so no folders have to be made and removed. An
// entry's version is its node's. "Leader" is the present term's holder, in its commits.
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
//	                              the candidate's address  each candidate, again    all candidates,         the session's end
//	                                                       when its term begins     followers
//	/registry/fence               "{term} {commit}         leader, in every commit  followers; the next     never
//	                              {election node}"                                  leader, rule T3
//	/registry/entries/{path}      any other entry: the     leader                   leader: start             by a commit
//	                              scheduler's state
//	/registry/staged/{commit}-{n} a part of a commit       leader                   leader; the next one      applied, or never named
//	/registry/commit              JSON: the commit that    leader                   the next leader, first    applied
//	                              is being applied
//	/registry/shared/{name}       a shared value, such as  each server, commands    each server, each second  never
//	                              users, tokens and keys
//
// A shared value is written beside all terms and fences, on the follower's session, from the version that was read.
// Without a digest everybody who reaches ZooKeeper can read and write it, as all else.
package zookeeper
