package local

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// holder describes the process that listens on a port, by its pid and command line, for an error. If this user can't
// inspect that process, the text says so.
func holder(port int) string {
	// A line of the tables contains: number, local and remote address, state (0A is LISTEN), five more fields, and the
	// socket's inode.
	listening := regexp.MustCompile(fmt.Sprintf(`(?m)^ *\d+: [0-9A-F]+:%04X [0-9A-F]+:[0-9A-F]+ 0A (?:\S+ +){5}(\d+)`,
		port))
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		content, _ := os.ReadFile(table) // if it cannot be read, the holder stays unknown
		for _, m := range listening.FindAllStringSubmatch(string(content), -1) {
			sockets["socket:["+m[1]+"]"] = true
		}
	}
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/[0-9]*")
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && sockets[target] {
			pid := strings.Split(fd, "/")[2]
			line, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
			return fmt.Sprintf("pid %s (%s)", pid, strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " ")))
		}
	}
	return "a process that this user can't inspect, of another user or another scheduler"
}
