// Package system runs the whole system for tests, from outside: the binaries that
// users get, as processes of their own, spoken to over HTTP only. It imports no package of the product.
//
//	Build ──▶ Binaries ──▶ New ──▶ Machine: one data folder, one package server, one ledger
//	                                 │ Start, Kill, Stop: the server, as often as wanted
//	                                 │ Call, Trigger, Await: its API
//	                                 ▼ Processes, Ledger: what really ran
//
// Nothing sleeps: [Machine.Until] looks again and again for what is wanted, with a deadline.
// At the end of each test the server is stopped, and nothing that it started may be left.
package system
