package supervisor

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// reapAtOnce is how many children are reaped before the lock is released.
const reapAtOnce = 4096

// reap waits for children and reaps them, as long as the process lives. The supervisor is a subreaper, so its
// children are the main processes of tasks and the processes that these have orphaned. It reaps all children that
// have ended under one lock, and examines their tasks together: a task that forks without end leaves thousands of
// orphans, and an examination of all children for each of them would be slower than the task forks.
func (s *server) reap() {
	for {
		switch _, err := peek(0); err {
		case nil:
			s.mu.Lock()
			s.reapEnded()
			s.wake()
			s.mu.Unlock()
		case syscall.ECHILD:
			<-s.started
		}
	}
}

// reapEnded reaps the children that have ended. The caller holds mu, so that no signal can go to a pid that is
// freed here and that the kernel then gives to another process.
func (s *server) reapEnded() {
	ended := false
	for range reapAtOnce {
		// The child stays a zombie until its group has been signalled, so that the kernel does not reuse its pid
		// before.
		pid, err := peek(unix.WNOHANG)
		if err != nil || pid == 0 {
			break
		}
		p := s.byPID[pid]
		var left []string
		if p != nil && !p.killed {
			left = p.runningOrphans()
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
		var status syscall.WaitStatus
		var used syscall.Rusage
		if reaped, err := syscall.Wait4(pid, &status, syscall.WNOHANG, &used); p == nil || err != nil || reaped != pid {
			continue
		}
		delete(s.byPID, pid)
		p.exit = Exit{Status: status.ExitStatus(), Killed: p.killed, At: time.Now(), Left: len(left),
			LeftNames: left[:min(len(left), maxLeftNames)], MaxMemory: used.Maxrss << 10}
		if status.Signaled() {
			p.exit.Signal = int(status.Signal())
		}
		p.exit.OutOfMemory = !p.killed && status != 0 && s.oom.count() > p.oomKills
		s.ending[p] = true
		ended = true
	}
	if !ended {
		return
	}
	s.reportEnded()
	if len(s.ending) > 0 {
		select {
		case s.toSweep <- struct{}{}:
		default:
		}
	}
}

const (
	// maxLeftNames is how many processes of Exit.Left are named.
	maxLeftNames = 5
	// maxExamined is how many orphans are examined for Exit.Left: a task that forks without end has thousands.
	maxExamined = 500
)

// runningOrphans returns the names of the processes that the task's main process, which has just ended, has left
// running. They are now children of this process; their own children follow when they end, and are not counted.
func (p *process) runningOrphans() (names []string) {
	pids := orphans()
	for _, pid := range pids[:min(len(pids), maxExamined)] {
		if group, err := syscall.Getpgid(pid); pid == p.pid || err != nil ||
			group != p.pid && !hasMark(pid, p.mark) && !hasVariable(pid, p.marker) {
			continue
		}
		if name := nameOf(pid); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// reportEnded reports the end of each task whose main process was reaped and that has no other process left. It
// returns the remaining processes of all other tasks whose main process was reaped. The caller holds mu.
func (s *server) reportEnded() map[*process][]int {
	left := s.orphansByTask()
	for p := range s.ending {
		if len(left[p]) == 0 {
			s.report(p)
		}
	}
	return left
}

// report sends the end of p to the executor. The caller holds mu.
func (s *server) report(p *process) {
	if p.timer != nil {
		p.timer.Stop()
	}
	delete(s.processes, p.id)
	delete(s.ending, p)
	s.send(event{ID: p.id, Exit: &p.exit})
}

// sweepInterval is how long the sweeper waits for a child to end before its next round. After each round it pauses for
// sweepPause, so that thousands of children that end in the meantime need only one round.
const (
	sweepInterval = 20 * time.Millisecond
	sweepPause    = time.Millisecond
)

// sweep kills the processes that a main process left behind, and reports the end when none of them is left. After a
// requested kill, processes that handle SIGTERM keep the rest of their grace. Each round kills again, regardless of
// what was reaped in between: otherwise a fork bomb would keep the sweeper waiting forever.
func (s *server) sweep() {
	for range s.toSweep {
		for {
			s.mu.Lock()
			left := s.reportEnded()
			wait := sweepInterval
			for p := range s.ending {
				if grace := time.Until(p.killAt); p.killed && grace > 0 {
					wait = min(wait, grace)
					continue
				}
				for _, pid := range left[p] {
					killTree(pid, p.pid)
				}
			}
			done, changed := len(s.ending) == 0, s.changed
			s.mu.Unlock()
			if done {
				break
			}
			<-time.After(sweepPause)
			select {
			case <-changed:
			case <-time.After(wait):
			}
		}
	}
}

// killTree kills a child. It also kills the child's process group, if the child leads that group or the group is
// the task's: one signal reaches every process of a group, and none of them can fork before it dies.
func killTree(pid, tasks int) {
	if group, err := syscall.Getpgid(pid); err == nil && (group == pid || group == tasks) {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// orphansByTask lists, by task, the orphans of tasks whose main process has ended. An orphan belongs to the task whose
// process group, mark or marker it has. If only one task is left, every orphan belongs to it, even one that has
// dropped all three. The caller holds mu.
func (s *server) orphansByTask() map[*process][]int {
	if len(s.ending) == 0 {
		return nil
	}
	left := map[*process][]int{}
	for _, pid := range orphans() {
		if s.byPID[pid] != nil {
			continue
		}
		group, err := syscall.Getpgid(pid)
		if err != nil {
			continue
		}
		for p := range s.ending {
			if group == p.pid || hasMark(pid, p.mark) || hasVariable(pid, p.marker) || len(s.processes) == 1 {
				left[p] = append(left[p], pid)
				break
			}
		}
	}
	return left
}

// killAll kills all children, and returns when this process has none, and so no descendant.
func (s *server) killAll() {
	for {
		if _, err := peek(unix.WNOHANG); err == syscall.ECHILD {
			return
		}
		s.mu.Lock()
		s.group.kill()
		killChildren()
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// killChildren kills all children of this process and their process groups, except for its own group.
func killChildren() {
	own := syscall.Getpgrp()
	for _, pid := range children() {
		if group, err := syscall.Getpgid(pid); err == nil && group != own {
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// KillChildren kills the processes that a dead supervisor left behind: every child of this process with its process
// group, and the orphans that this process inherits from them, until none is left or timeout has passed. It
// returns the pids that are left. Each round kills again, because a child can fork until it is reaped. The calling
// process must have no other children than those that it inherited, and Close must have returned.
func (c *Client) KillChildren(timeout time.Duration) (left []int) {
	group := groupOf(c.PID())
	defer group.remove()
	for end := time.Now().Add(timeout); ; <-time.After(time.Millisecond) {
		group.kill()
		killChildren()
		for range reapAtOnce {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if err == unix.ECHILD {
				return nil
			}
			if pid <= 0 {
				break
			}
		}
		if !time.Now().Before(end) {
			return children()
		}
	}
}
