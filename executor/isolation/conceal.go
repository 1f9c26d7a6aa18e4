package isolation

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Conceal closes this process to other processes of its user. Only root then has access to its environment, memory and
// descriptors, to its root and working folder in /proc, and by ptrace, and the kernel writes no core dump of the
// process. It does not apply to programs that this process starts.
func Conceal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close this process to others of its user: %w", err)
	}
	return nil
}
