// Package examples types what the READMEs of examples/ and the Go section of docs/write-a-job.md say, word for word,
// with a running server.
package examples
