// Package whole tests the whole system from outside: real binaries, real processes,
// real HTTP, kill -9. Its helpers are in test/internal/system.
package whole
