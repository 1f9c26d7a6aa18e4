// Command checks runs the checks of this repository: those for an engineer who changes it (test), those that a
// change must pass before it lands (ci), and everything, at night (nightly).
//
//	go run ./test/checks test                  what make test does
//	go run ./test/checks -only vet,unit test   some phases of it
//	go run ./test/checks -list nightly         lists the phases
//
// A tier is a list of phases (phases.go). Each phase is a command, in most cases go test. Two phases run at once,
// but at most one that uses the CPU all the time (run.go). The tests of a phase are read from go test's JSON
// (gotest.go), so that the report (report.go) names each failed test and the command that repeats it.
//
// Everything is compiled in two ways only, as users get it and with the race detector, because each takes minutes
// on a machine that has compiled nothing yet. The programs are built once, and the tests find them through
// ELASTICJOB_PROGRAMS.
package main
