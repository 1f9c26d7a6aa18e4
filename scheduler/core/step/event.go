package step

// Event is something that happened outside of the core. Events are the input of a step. The package that handles an
// event defines its type.
type Event interface {
	// CoreEvent marks the types that are events. It is never called.
	CoreEvent()
}
