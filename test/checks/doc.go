// Command checks runs what says that this repository is as it should be: for a newcomer (test), before a change lands (ci), and
// at night (nightly).
//
//	go run ./test/checks test                  what make test does
//	go run ./test/checks -only lint,unit test  some phases of it
//	go run ./test/checks -list nightly         which phases there are
//
// A tier is a list of phases (phases.go). Each is one command, most often of go test. Phases that compute go one after the
// other; beside them go phases that mostly wait (run.go). The tests of a phase are read from go test's JSON (gotest.go), so that
// the report (report.go) names each failed test and the command that repeats it.
//
// Everything is compiled in two ways only, as users get it and with the race detector, since each of them takes minutes on a
// machine that has compiled nothing yet. The programs are built once and named to the tests in the environment.
package main
