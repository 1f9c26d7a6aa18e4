// Package whole tests the whole system from outside: real binaries, processes, HTTP and kill -9. Its helpers are in
// test/internal/system.
package whole
