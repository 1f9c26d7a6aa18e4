package step

// Event is something that happened outside of the core and comes in with a step. The packages that handle an event
// define its type.
type Event interface {
	// CoreEvent marks the types that are events. It is never called.
	CoreEvent()
}
