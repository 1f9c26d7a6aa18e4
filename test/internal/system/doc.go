// Package system runs the whole system for tests from outside: the binaries that users get, as separate processes,
// through HTTP only. It imports no package of the product.
//
//	Build ──▶ Binaries ──▶ New ──▶ Machine: one data folder, one package server, one ledger
//	                                 │ Start, Kill, Stop: the server, any number of times
//	                                 │ Call, Trigger, Await: its API
//	                                 ▼ Processes, Ledger: what really ran
//
// A test does not sleep to wait for a condition: [Machine.Until] polls for it until a deadline. At the end of each test
// the server is stopped, and any process that it has left running is an error.
package system
