// Package examples types the commands in the READMEs of examples/ and in the Go section of docs/write-a-job.md, word
// for word, with a running server.
package examples
