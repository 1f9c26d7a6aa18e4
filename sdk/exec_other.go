//go:build !unix

package sdk

// closeOnExec does nothing: executors run on Linux, and elsewhere a program is started by hand.
func closeOnExec(int) {}
