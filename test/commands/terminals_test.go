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
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
)

// patience is for what is asked to end: a server ends its executors, which nobody but root finds by themselves, with
// their tasks.
const patience = 20 * time.Second

// ends ends all that goes on: what terminals have started, and executors, which outlive their server.
func (s *sandbox) ends() {
	s.Helper()
	for _, terminal := range slices.Backward(s.terminals) { // the last first: a server hands over while its ZooKeeper is there
		s.signal(descendants(terminal.PID()), syscall.SIGTERM)
		select {
		case <-terminal.Done():
		case <-time.After(patience):
		}
		// Stopped first: what still ran would go on to start others.
		var below []int
		for all := descendants(terminal.PID()); len(all) > len(below); all = descendants(terminal.PID()) {
			below = all
			s.signal(below, syscall.SIGSTOP)
		}
		terminal.Kill()
		s.signal(below, syscall.SIGKILL)
	}
	s.terminals = nil
	if err := child.EndAll(s.dir); err != nil {
		s.Error(err)
	}
}

func (s *sandbox) signal(pids []int, sig syscall.Signal) {
	s.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			s.Errorf("%v for process %d: %v", sig, pid, err)
		}
	}
}

// descendants are the processes that a process and its own have started. Of a server that is not root's nobody else
// can read where it works; who started it can be seen.
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
