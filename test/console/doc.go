// Package console has the console tested in a real browser: web/test, by node, against the real server. What is in
// web/test/unit needs neither.
package console
