// Package explain answers questions about the scheduler's state: which apps, jobs and executions exist, what they do,
// and why. It is pure: it reads the core, which does not change meanwhile, and leaves out all objects that the
// requester may not see.
//
//	requester ── Scope ─┐
//	                    ├─▶ Reader ──▶ views, of one moment, of the apps in the scope
//	core between steps ─┘
//
// A Reader requires a Scope, and only the scheduler makes Readers. So no caller can forget to hide an object that the
// Scope does not cover: the requester gets the same answer as for an object that does not exist.
package explain
