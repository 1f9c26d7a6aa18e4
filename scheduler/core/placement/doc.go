// Package placement decides which shard goes where. A Placement matches waiting shards with the offers at hand,
// launches the shards that fit, and holds, declines and requests offers, so that other frameworks get the resources
// that this one does not need. It owns the offers, the reservation, and the unanswered ACCEPTs. No other package can
// change them, and none of them is stored. Sessions, offers and answers come in through its methods; Launch and
// ManageOffers decide once in each step. Package attempts decides what follows after the launch.
//
// # One step
//
//	offers, answers and ends of tasks come in
//	  │
//	  ▼
//	Launch         demands (demand.go) ─▶ offers.Match, pure ─▶ one ACCEPT for each agent (launch.go)
//	  │                                       │
//	  │                                       └─▶ what was not placed, and why (unoffered.go); an idle executor of
//	  │                                           another app may have to make room (evict.go)
//	  ▼
//	ManageOffers   the need of the next seconds (need.go, upcoming.go) ─▶ hold, decline, revive or suppress (flow.go)
//
// A match is made only if something has changed that could let a shard fit: an offer arrived, a task ended, a shard
// began to wait. With very many executions it takes several steps, which are a round; each step continues where the
// last one ended, so that no step is long. All decisions of a step are committed before its ACCEPTs are sent. The
// answer to an ACCEPT may be lost with the session: then the tasks are asked about by reconciliation.
//
// An ACCEPT uses all offers of its agent, and what it does not need stays with the master (rule L3). A shard's task
// brings its executor along if none with the same description runs on that agent. Such an executor needs room of its
// own, which is why a second shard on the same agent needs less.
//
// # Which offers are held
//
// An offer that this framework holds is missing for all others, so each is held for a reason, and for at most
// OfferHold (5 s) unless its agent is reserved:
//
//   - Shards wait that could use it: those of a launched execution one by one, those of a new one only together
//     (rule L1), so that half of a run does not keep agents busy while it waits for the other half.
//   - A fire is due so soon that the offer would not be back in time if it were declined, and the match of the fire's
//     shards needs it. How soon depends on the time that this master takes to answer a REVIVE, which is measured
//     (reviveTiming); it is at most OfferAhead (2 s).
//   - A daemon's shard is about to move there (moving.go).
//
// All others are declined, with a filter that ends shortly before the next fire needs the resources (refuseFor). Four
// calls steer what the master offers. This package remembers which of them it has sent, because Mesos does not say
// what is in force:
//
//	DECLINE   the resources stay away for a while; one filter for each agent
//	REVIVE    all filters end; in a large cluster it makes thousands of offers, so it is sent rarely (reviveInterval)
//	SUPPRESS  no offers at all, while no shard waits and no fire is near
//	ACCEPT    also declines what it leaves, behind a filter (recordLeftover)
//
// # An execution that finds no room
//
// Small executions that come every second would keep a large one waiting without end. So the execution that has waited
// longest, for at least ReserveAfter (30 s), gets a reservation: agents that could hold it if only daemons stayed
// there (reserve.go, rule L2). Nothing else is placed on them until it fits, or until the shards that ran there should
// have ended. An example with two agents of 4 CPUs, where one-shard runs of 1 CPU and 20 s begin each second, and a run
// of one shard with 4 CPUs waits:
//
//	 0 s  the large run does not fit: neither agent ever has more than 1 CPU to offer
//	30 s  agent A is reserved for it; small runs go to agent B, and some of them wait
//	50 s  the last small run on A has ended: the large run is launched there, and the reservation ends
//
// Only one execution has a reservation at a time, so that two can't wait for each other's agents.
//
// # Where nothing is placed
//
// Some agents are left out, each with a reason that explain shows: a cordoned or draining machine, silent executors,
// and maintenance (state.State.Excluded); starts that failed there (StartFailures); constraints of the cluster, such as
// taints (unfit.go). If a shard is too large for every agent, explain says so, and no offer is held for it.
package placement
