// Package zookeeper is the registry in ZooKeeper, for several schedulers, one of which leads.
//
// # Terms
//
// A campaign opens a session and stands for election in the format of Curator's LeaderSelector. So a running
// ElasticJob-Cloud 3.0.1 and this scheduler exclude each other. The first candidate begins a term with one Multi (rule
// T1), and keeps its session to the end of the term. A commit is one Multi that checks the election node, sets the
// fence from its last version and makes the writes (rule T2). So ZooKeeper itself refuses the commits of a deposed
// leader. If the answer is lost, the term sends the same Multi again; if that is refused, the fence shows whether the
// first one succeeded (rule T3). Any other refusal, for example because of a quota, means that nothing was written,
// and the term continues. A commit that is too large for one Multi is staged in parts, committed by one Multi that
// names the parts, and then applied (rule T5); see term.stage.
//
//	writes ─► plan ─► operations ─► write ─► send ─► Multi: election node, fence, operations
//	            ▲                     ▲ a wrongly planned operation    │
//	            │                     └── refit ◄──────────────────────┤ refused
//	        nodeStates ◄───────────────────────────────────────────────┘ done
//
// The condition of a write becomes the version of an operation, which ZooKeeper checks. An operation without a
// condition creates a node or sets it, depending on whether the term believes that the node exists (nodeStates). If
// that is wrong, ZooKeeper refuses the Multi, and the refusal shows the actual state.
//
// A term ends when its session ends, when its election node is removed, and when the fence is refused or belongs to
// another term. Nothing else ends it. Package internal/zookeeper defines when a session ends: this process considers
// it ended before ZooKeeper can give the leadership to another.
//
// # Reading
//
// A term makes all its reads on its own session, so every read shows the commits of earlier terms (rule T1) and of
// this one. A list shows the state of one moment, because no commit is made during it; only documents and disabled
// marks have other writers, and may change.
//
// A second session reads the election several times a second while the registry is open, for Leader. The first
// candidate leads as soon as the fence names it. Shared values use this session too. During a term, a third session
// watches the documents and disabled marks, for Changed.
//
// A node that may not be read is an entry with Entry.Unreadable set. Its version comes from a request exists, which
// requires no permission. So the entry can be deleted if the ACL of its parent allows that.
//
// # When ZooKeeper goes back
//
// Stop all schedulers before ZooKeeper is restored from an older copy, or the namespace is emptied. The copy lacks all
// later changes. Fires that were made and executions that ended after the copy count as open, and may run twice. Later
// terms are missing too. A server that has observed them gives its own term a higher number; if another leader has a
// lower number, the server accepts this leader and logs a warning. After a server has stood for election once, it
// treats no error as permanent: it waits until missing nodes exist again, and logs warnings.
//
// # Layout
//
// All nodes are below /<chroot>/<namespace>. Nodes that the original also has keep its paths and formats. All nodes
// under /registry are new. An entry there is one node, whose name is the entry's escaped path, so that no folders have
// to be created and removed. The version of an entry is that of its node. "Leader" in this table is the leader of the
// present term, in its commits.
//
//	node                          value                    written by               read by                   removed
//	/config/app/{app}             document                 leader; users, console   leader: start, Changed    app deleted
//	/config/job/{job}             document                 leader; users, console   leader: start, Changed    job deregistered
//	/state/disable/app/{app}      name                     leader; users, console   leader: start, Changed    app enabled or deleted
//	/state/disable/job/{job}      name                     leader; users, console   leader: start, Changed    job enabled or deregistered
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
// A shared value is written outside all terms and fences, on the follower's session, under the condition that its
// version is the one that was read. Without a digest, everyone who can reach ZooKeeper can read and write all nodes,
// also shared values.
package zookeeper
