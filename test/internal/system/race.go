//go:build race

package system

// Race tells that tests run with the race detector; the server is then built with it too.
const Race = true
