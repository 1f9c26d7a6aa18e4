//go:build race

package system

// Race says that tests run with the race detector; the server is then built with it too.
const Race = true
