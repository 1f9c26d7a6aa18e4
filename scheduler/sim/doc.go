// Package sim plays leader terms in a simulated world with seeded faults: the real core, in the machine
// (scheduler/term) that the real shell drives too, and around it models of the registry, of processes that crash and
// pause, of a Mesos master with agents, executors and their processes, and of users.
//
// Everything is driven by one seed and one queue of events in virtual time.
// There is no goroutine and no real clock, so a seed plays the same world every
// time: a run that fails is played again to get its trace.
//
// What must hold is checked at every decision, commit, effect and start of a process,
// and once more after the faults have stopped and all that can run has ended.
package sim
