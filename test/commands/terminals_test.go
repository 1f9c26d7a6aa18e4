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

// patience is how long processes may take to end by themselves. A server then ends its executors and their tasks, which
// may be of other users.
const patience = 20 * time.Second

// ends ends everything that is running: the processes of terminals, and executors, which outlive their server.
func (s *sandbox) ends() {
	s.Helper()
	// In reverse order, so that a server can hand over while its ZooKeeper runs.
	for _, terminal := range slices.Backward(s.terminals) {
		s.signal(descendants(terminal.PID()), syscall.SIGTERM)
		select {
		case <-terminal.Done():
		case <-time.After(patience):
		}
		// The descendants are stopped before they are killed, because a running one could start others meanwhile.
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

// descendants returns all descendants of a process. It follows the parents of processes, which it can read of
// processes of all users, unlike their working folders.
func descendants(pid int) (all []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	parents := map[int]int{}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		var state string
		var parent int
		_, _ = fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &parent)
		if id, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			parents[id] = parent
		}
	}
	generation := []int{pid}
	for len(generation) > 0 {
		var next []int
		for id, parent := range parents {
			if slices.Contains(generation, parent) {
				next = append(next, id)
			}
		}
		all = append(all, next...)
		generation = next
	}
	return all
}
