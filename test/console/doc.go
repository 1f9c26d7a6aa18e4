// Package console tests the console in a real browser: node runs web/test against the real server. The tests in
// web/test/unit need neither.
package console
