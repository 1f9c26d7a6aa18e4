// Package explain answers what people ask of the scheduler: what is there, what it does, and why. It is pure: it reads
// the core, which holds still meanwhile, and leaves out what the asker may not see.
//
//	who asks ── Scope ──┐
//	                    ├─▶ Reader ──▶ views, of one moment, of the apps in the scope
//	core between steps ─┘
//
// Nobody gets a Reader without a Scope, and nobody but the scheduler makes one. So no caller can forget to hide what a
// Scope does not cover: to the asker it is not there, and has the very answer of what is not there.
package explain
