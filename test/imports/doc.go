// Package imports checks which package imports which. The packages of this repository
// stand in an order, the layout, and imports go down it only; a few packages have rules of their own beside that.
// The check reads what "go list" says about the code, so it can't grow stale.
//
//	go test ./test/imports
//
// A new package gets its place in the table order, in rules.go, with the change
// that brings it. The rules do not hold for _test.go files: a test may bring any
// implementation. Nor do they hold for the packages under test/. Programs under
// examples/ stand for users and import no package of the product.
package imports
