package commands

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
)

// ends ends all that goes on: what terminals have started, and executors, which outlive their server.
func (s *sandbox) ends() {
	s.Helper()
	for _, terminal := range s.terminals {
		below := descendants(terminal.PID())
		terminal.Kill()
		for _, pid := range below {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				s.Errorf("end process %d: %v", pid, err)
			}
		}
	}
	s.terminals = nil
	if err := child.EndAll(s.dir); err != nil {
		s.Error(err)
	}
}

// descendants are the processes that a process and its own have started. Of a server that is not root's nobody else can read where it
// works; who started it can be seen.
func descendants(pid int) (all []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	parents := map[int]int{}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		var state string
		var parent int
		_, _ = fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &parent)
		if one, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			parents[one] = parent
		}
	}
	generation := []int{pid}
	for len(generation) > 0 {
		var next []int
		for one, parent := range parents {
			if slices.Contains(generation, parent) {
				next = append(next, one)
			}
		}
		all = append(all, next...)
		generation = next
	}
	return all
}
