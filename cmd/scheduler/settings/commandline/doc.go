// Package commandline has what all commands of the server share about their flags: kinds of values, what is said of a
// flag that is wrong, and errors that are collected so that all of them are reported at once.
package commandline
