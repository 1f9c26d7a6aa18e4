// Package imports checks the imports between packages. The packages of this repository are ordered in layers, and may
// only import packages below them. A few packages have additional rules. The check uses the output of "go list", so
// it cannot become outdated.
//
//	go test ./test/imports
//
// A new package gets its place in the table order, in rules.go, with the change that adds it. The rules do not apply
// to _test.go files, because a test may use any implementation, nor to the packages below test/. Programs below
// examples/ represent users and import no package of the product except the SDK.
package imports
