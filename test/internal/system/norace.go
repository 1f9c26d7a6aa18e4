//go:build !race

package system

// Race reports whether the tests run with the race detector. The server is then built with it too.
const Race = false
