//go:build unix

package sdk

import "syscall"

// closeOnExec prevents child processes from inheriting a descriptor.
func closeOnExec(fd int) { syscall.CloseOnExec(fd) }
