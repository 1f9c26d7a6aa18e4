//go:build unix

package sdk

import "syscall"

// closeOnExec keeps a descriptor from programs that this one starts.
func closeOnExec(fd int) { syscall.CloseOnExec(fd) }
