// Package arrows checks who imports whom. The rooms of this repository stand in
// an order, and imports go down it only; the rules of single rooms come on top.
// The check reads what "go list" says about the code, so it can't grow stale.
//
//	go test ./test/arrows
//
// A new room gets its place in the table order, in rules.go, with the change
// that brings it. What _test.go files import is free: a test may bring any
// room's implementation. So are the packages under test/. Programs under
// examples/ stand for users and import no room at all.
package arrows
