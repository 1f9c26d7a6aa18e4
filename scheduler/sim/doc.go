// Package sim plays the scheduler core in a simulated world with seeded faults: the real
// scheduler.Core, and around it models of the registry, the shell with its
// leaders, a Mesos master with agents, executors and processes, and users.
//
// Everything is driven by one seed and one queue of events in virtual time.
// There is no goroutine and no real clock, so a seed plays the same world every
// time: a run that fails is played again to get its trace.
//
// What must hold is checked at every decision, commit, call and start of a process,
// and once more after the faults have stopped and all that can run has ended.
package sim
