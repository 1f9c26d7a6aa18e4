package isolation

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Conceal closes this process to other processes of its user: its environment, memory and descriptors, its root and
// working folder below /proc, and ptrace. Only root can look into it from then on, and the kernel writes no core dump
// of it. The programs that it starts are not concealed.
func Conceal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close this process to others of its user: %w", err)
	}
	return nil
}
