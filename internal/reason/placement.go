package reason

import "time"

// Agent identifies an agent for users: by its id, and its host if known.
type Agent struct{ ID, Host string }

func (a Agent) reason() Reason { return build("agent", text("id", a.ID), text("host", a.Host)) }

// Codes of placements.
const (
	NothingOnOffer Code = "nothing_on_offer"
)

// Need is the demand of some shards of a job: of each shard and, once per agent, of their executor. Amounts are
// formatted. Executor is "" if each shard has its own executor.
type Need struct {
	Shards        int
	Together      bool
	Each          string
	Executor, App string
}

// app returns the app, which matters only together with the demand of its executor.
func (n Need) app() string {
	if n.Executor == "" {
		return ""
	}
	return n.App
}

func (n Need) reason() Reason {
	code := Code("needs_each")
	switch {
	case n.Shards == 1:
		code = "needs_one"
	case n.Together:
		code = "needs_together"
	}
	return build(code, number("shards", n.Shards), text("each", n.Each), text("executor", n.Executor),
		text("app", n.app()))
}

// NoAgentUsable says that none of the agents on offer may be used; others says why.
func NoAgentUsable(n Need, onOffer int, others Reason) Reason {
	return build("no_agent_usable", nested("need", n.reason()), number("agents", onOffer), nested("why", others))
}

// NoRoom says that the usable agents have room for fewer shards than wait, or for none. nearest is the agent that
// lacks the least for another shard, and short is what it lacks, or "" if all agents are full. others says which
// agents may not be used, and why; it may be zero.
func NoRoom(n Need, usable, room int, nearest Agent, short string, others Reason) Reason {
	args := []arg{nested("need", n.reason()), number("agents", usable)}
	if room > 0 {
		args = append(args, number("room", room))
	}
	if short != "" {
		args = append(args, nested("nearest", nearest.reason()), text("short", short))
	}
	return build("no_room", append(args, nested("others", others))...)
}

// The reasons why agents may not be used have the number of these agents, and one of them as an example.

// AgentsReserved says that agents are reserved for another execution.
func AgentsReserved(agents int, example Agent, execution string) Reason {
	return build(oneOrMore("agent_reserved", agents), nested("agent", example.reason()), number("agents", agents),
		text("execution", execution))
}

// AgentsFull says that agents have the greatest allowed number of tasks.
func AgentsFull(agents int, example Agent) Reason {
	return build(oneOrMore("agent_full", agents), nested("agent", example.reason()), number("agents", agents))
}

// AgentsAvoided says that an app avoids agents.
func AgentsAvoided(agents int, example Agent, why Reason) Reason {
	return build(oneOrMore("agent_avoided", agents), nested("agent", example.reason()), number("agents", agents),
		nested("why", why))
}

func oneOrMore(code Code, n int) Code {
	if n == 1 {
		return code
	}
	return code + "_and_others"
}

// All joins reasons into one. It ignores zero reasons.
func All(rs ...Reason) (all Reason) {
	for i := len(rs) - 1; i >= 0; i-- {
		switch {
		case all.IsZero():
			all = rs[i]
		case !rs[i].IsZero():
			all = build("both", nested("first", rs[i]), nested("second", all))
		}
	}
	return all
}

// WithNextLaunch says that there is room for the shards, but their settings exceed the limit of one call to an agent.
func WithNextLaunch(shards int, each, limit string) Reason {
	return build("with_next_launch", number("shards", shards), text("each", each), text("limit", limit))
}

// NeverFits says that no agent, even an empty one, can hold one shard.
func NeverFits(n Need, nearest Agent, has string) Reason {
	return build("never_fits", nested("nearest", nearest.reason()), text("each", n.Each),
		text("executor", n.Executor), text("app", n.app()), text("has", has))
}

// HolderNotOnOffer says that no agent on offer can hold a shard, but that this agent, which makes no offer, could.
func HolderNotOnOffer(agent string) Reason { return build("holder_not_on_offer", text("agent", agent)) }

// HolderClosed is HolderNotOnOffer for an agent on which the cluster places nothing; why is the cluster's reason.
func HolderClosed(agent, why string) Reason {
	return build("holder_closed", text("agent", agent), text("why", why))
}

// HolderAvoided is HolderNotOnOffer for an agent on which this server places nothing.
func HolderAvoided(agent string, why Reason) Reason {
	return build("holder_avoided", text("agent", agent), nested("why", why))
}

// AgentsClosed says that no agent accepts tasks, why the first of them does not, and how many others there are.
func AgentsClosed(agent, why string, others int) Reason {
	args := []arg{text("agent", agent), text("why", why)}
	if others > 0 {
		args = append(args, number("others", others))
	}
	return build("agents_closed", args...)
}

// StartFailed says that an app's executor did not start on an agent, which is retried at that time of day (rule L6).
// task is set if each task has an executor of its own.
func StartFailed(task bool, times int, last Reason, at time.Time) Reason {
	code := Code("executor_start_failed")
	if task {
		code = "task_start_failed"
	}
	return build(code, number("times", times), nested("last", last), text("at", at.Format(time.TimeOnly)))
}

// ExecutorsSilent says that nothing is placed on an agent, because its executors have been silent since a time.
func ExecutorsSilent(since time.Time) Reason {
	return build("executors_silent", timestamp("since", since))
}

// Cordoned says since when and by whom a machine is cordoned, and until when, which may be zero; why is the operator's
// text. by is "" if no login was required.
func Cordoned(since, until time.Time, by, why string) Reason {
	args := []arg{timestamp("since", since), text("by", by), text("why", why)}
	if !until.IsZero() {
		args = append(args, timestamp("until", until))
	}
	return build("cordoned", args...)
}

// DeclaredDead says when and by whom a machine was declared dead; by and why may be "".
func DeclaredDead(at time.Time, by, why string) Reason {
	return build("declared_dead", timestamp("at", at), text("by", by), text("why", why))
}

// MaintenanceBegins says that an agent's maintenance begins at from. until may be zero.
func MaintenanceBegins(from, until time.Time) Reason {
	return maintenance("maintenance_begins", from, until)
}

// InMaintenance says that an agent's maintenance has begun at from. until may be zero.
func InMaintenance(from, until time.Time) Reason { return maintenance("in_maintenance", from, until) }

func maintenance(code Code, from, until time.Time) Reason {
	args := []arg{timestamp("from", from)}
	if !until.IsZero() {
		args = append(args, timestamp("until", until))
	}
	return build(code, args...)
}

// ClusterRule says that a rule of the cluster excludes an agent for an app; why is the driver's message.
func ClusterRule(why string) Reason { return build("cluster_rule", text("why", why)) }

// Previews of a placement on the known agents. offersHeld says that the scheduler holds offers, whose room the preview
// does not include.

// WouldFit says that there is room for all shards.
func WouldFit(offersHeld bool, shards int) Reason {
	return build(preview("would_fit", offersHeld), number("shards", shards))
}

// WouldNotFit says that there is room for only some of the shards.
func WouldNotFit(n Need, room int) Reason {
	return build("would_not_fit", number("room", room), number("shards", n.Shards), text("each", n.Each),
		text("executor", n.Executor), text("app", n.app()))
}

// NoAgentSeen says that no agent has made an offer yet.
func NoAgentSeen() Reason { return build("no_agent_seen") }

func preview(code Code, offersHeld bool) Code {
	if offersHeld {
		return code + "_beside_offers"
	}
	return code
}
