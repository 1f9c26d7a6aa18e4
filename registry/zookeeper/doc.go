// Package zookeeper is the registry in ZooKeeper, for several schedulers of which one leads.
//
// # Terms
//
// A campaign opens a session and stands for election in the format of Curator's LeaderSelector, so that a running
// ElasticJob-Cloud 3.0.1 and this scheduler exclude each other. The first candidate begins a term with one Multi (rule
// T1), and keeps its session to the end of the term. A commit is one Multi that checks the election node, sets the
// fence from its last version and makes the writes (rule T2), so ZooKeeper itself refuses a deposed leader. If an
// answer is lost, the term sends the same Multi again: the fence shows whether the first one succeeded (rule T3). Any
// other refusal of a commit, for example by a quota, means that nothing was written, and the term continues. A commit
// that is too large for one Multi is staged in parts, committed by one Multi that names them, and then applied (rule
// T5); see term.stage.
//
//	writes ─► plan ─► operations ─► write ─► send ─► Multi: election node, fence, operations
//	            ▲                     ▲ one that was planned wrongly   │
//	            │                     └── refit ◄──────────────────────┤ refused
//	          known ◄──────────────────────────────────────────────────┘ done
//
// The condition of a write becomes the version of an operation, which ZooKeeper checks. Whether an operation without a
// condition creates or sets a node is planned from what the term knows (known). If that is wrong, ZooKeeper refuses
// the Multi, and the refusal shows the actual state.
//
// A term ends with its session, with its election node, or when the fence is refused or belongs to another term;
// nothing else ends it. Package internal/zookeeper defines when a session ends: this process considers it ended before
// ZooKeeper can give the leadership to another.
//
// # Reading
//
// A term reads everything on its own session, so no read is older than the term (rule T1) or than its commits. A list
// shows one moment, because no commit happens during it and only documents and disabled marks have other writers.
//
// A second session reads the election several times a second while the registry is open, for Leader: the first
// candidate leads once the fence names it. Shared values use this session too. While a term lasts, a third session
// watches the documents and disabled marks, for Changed.
//
// A node that may not be read is an entry with Entry.Unreadable set. Its version comes from exists, which needs no
// permission, so it can be deleted if the ACL of its parent allows that.
//
// # When ZooKeeper goes back
//
// Stop all schedulers before ZooKeeper is restored from an older copy, or the namespace is emptied. The copy lacks
// everything since it was made: fires and executions that have ended since count as open again and may run twice.
// Terms since then are missing too. A server that has seen them numbers its own term above them, also sees leaders of
// lower terms, and warns. A server that has stood for election once treats no error as permanent any more: it waits
// for the missing nodes to come back, and warns.
//
// # Layout
//
// All nodes are below /<chroot>/<namespace>. Nodes that the original also has keep its places and formats. All nodes
// under /registry are new, and flat: the name of an entry's node is its escaped path, so that no folders have to be
// created and removed. The version of an entry is that of its node. "Leader" is the holder of the present term, in its
// commits.
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
// A shared value is written outside all terms and fences, on the follower's session, with the version that was read.
// Without a digest, everyone who can reach ZooKeeper can read and write it, like all other nodes.
package zookeeper
