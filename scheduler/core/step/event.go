package step

// Event is something that happened outside of the core, as it comes in with a step.
type Event interface {
	// CoreEvent marks the types that are events.
	CoreEvent()
}
