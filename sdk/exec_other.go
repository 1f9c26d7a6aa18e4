//go:build !unix

package sdk

// closeOnExec does nothing: executors run on Linux only; on other systems users start the program themselves.
func closeOnExec(int) {}
