// Package examples runs what the READMEs of examples/ and "Write a job" of the repository's own say, word for word, with a server
// that runs.
package examples
