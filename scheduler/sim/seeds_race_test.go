//go:build race

package sim

// defaultSeeds is how many worlds a test run plays under the race detector, which
// makes each about ten times as slow; a world has no goroutines, so more show nothing new.
const defaultSeeds = 100
