//go:build !unix

package sdk

// closeOnExec does nothing, because there is no pipe: executors run on Linux only.
func closeOnExec(int) {}
