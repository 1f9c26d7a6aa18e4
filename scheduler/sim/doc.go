// Package sim plays leader terms in a simulated world with seeded faults: the real core in the real machine
// (scheduler/term), and around it models of the registry, of processes that crash and pause, of a Mesos master with
// agents, executors and their processes, and of users.
//
// One seed and one queue of events in virtual time drive everything. There is no goroutine and no real clock, so a
// seed plays the same world every time: a run that fails is repeated to get its trace.
//
// The invariants are checked at every decision, commit, effect and start of a process. They are checked once more at
// the end of a world, when the faults have stopped and everything that can run has ended.
package sim
