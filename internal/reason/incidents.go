package reason

import "time"

// Incidents are troubles with a beginning and an end, about which users are notified. The words of an incident are a
// complete sentence.

// MachineSilent says since when a machine is silent, and how many tasks may still run there.
func MachineSilent(machine string, since time.Time, tasks int) Reason {
	if tasks == 0 {
		return build("machine_idle_silent", text("machine", machine), timestamp("since", since))
	}
	return build("machine_silent", text("machine", machine), timestamp("since", since), number("tasks", tasks))
}

// MachineBack says that a machine that was silent for away is heard again.
func MachineBack(machine string, away time.Duration) Reason {
	return build("machine_back", text("machine", machine), duration("duration", away))
}

// MachineGone says that a machine that was silent is no longer expected back.
func MachineGone(machine string, since time.Time) Reason {
	return build("machine_gone", text("machine", machine), timestamp("since", since))
}

// MachineFlaps says how often a machine was silent within an hour, and until when the server has cordoned it for that.
func MachineFlaps(machine string, times int, until time.Time) Reason {
	return build("machine_flaps", text("machine", machine), number("times", times), timestamp("until", until))
}

// MachineIsDrained says that a machine that was to be emptied is empty.
func MachineIsDrained(machine string) Reason {
	return build("machine_is_drained", text("machine", machine))
}

// DrainOverdue says how many tasks are left on a machine that was to be empty at a time, and what holds up the first.
func DrainOverdue(machine string, deadline time.Time, tasks, item int, job string, why Reason) Reason {
	return build("machine_drain_overdue", text("machine", machine), timestamp("deadline", deadline),
		number("tasks", tasks), number("item", item), text("job", job), nested("why", why))
}

// MachineDraining says how many tasks are left on a machine that is being emptied.
func MachineDraining(machine string, tasks int) Reason {
	return build("machine_draining", text("machine", machine), number("tasks", tasks))
}

// MachineCordoned says that nothing is placed on a machine, and why.
func MachineCordoned(machine string, why Reason) Reason {
	return build("machine_cordoned", text("machine", machine), nested("why", why))
}

// MostSilent says that so many machines are silent at once that the fault is probably the server's (rule E4).
func MostSilent(silent, all int) Reason {
	return build("most_silent", number("silent", silent), number("all", all))
}

// MostHeardAgain says that most machines are heard again, and how long they were not.
func MostHeardAgain(after time.Duration) Reason {
	return build("most_heard_again", duration("duration", after))
}

// MostUnreachable says that most machines no longer count as silent, but only because the cluster now reports so many
// of them as unreachable.
func MostUnreachable(machines int) Reason {
	return build("most_unreachable", number("machines", machines))
}

// JobBlocked says since when a job is blocked; why says by what, and what would free it.
func JobBlocked(job string, since time.Time, why Reason) Reason {
	return build("job_blocked", text("job", job), timestamp("since", since), nested("why", why))
}

// JobUnblocked says that a job is not blocked any more, and how long it was.
func JobUnblocked(job string, after time.Duration) Reason {
	return build("job_unblocked", text("job", job), duration("duration", after))
}
