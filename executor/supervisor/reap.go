package supervisor

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// reapAtOnce is the maximum number of children that are reaped before the lock is released.
const reapAtOnce = 4096

// reap waits for the end of children and reaps them, as long as this process lives. The supervisor is a subreaper, so
// its children are the main processes of tasks and the processes that these have orphaned. It locks once for all
// children that have ended, and examines their tasks together: a task that forks without end leaves thousands of
// orphans, and if the supervisor examined all children for each of them, it would be slower than the task.
func (s *server) reap() {
	for {
		switch _, err := peek(0); err {
		case nil:
			s.mu.Lock()
			s.reapEnded()
			s.wake()
			s.mu.Unlock()
		case syscall.ECHILD: // there is no child
			<-s.started
		}
	}
}

// reapEnded reaps the children that have ended. The caller holds mu, so that no signal can go to a pid that is
// freed here and that the kernel then gives to another process.
func (s *server) reapEnded() {
	ended := false
	for range reapAtOnce {
		// Until its group has been signalled, the child stays a zombie, so that the kernel does not reuse its pid.
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
		reaped, err := syscall.Wait4(pid, &status, syscall.WNOHANG, &used)
		if p == nil || err != nil || reaped != pid {
			continue
		}
		delete(s.byPID, pid)
		p.exit = Exit{Status: status.ExitStatus(), Killed: p.killed, LeaseOver: p.leaseOver,
			At: time.Now(), Left: len(left),
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
	for p := range s.ending {
		if !p.killed && !p.toldLeft {
			p.toldLeft = true
			s.send(event{ID: p.id, Left: true})
		}
	}
	if len(s.ending) > 0 {
		select {
		case s.toSweep <- struct{}{}:
		default:
		}
	}
}

const (
	// maxLeftNames is the maximum number of names in Exit.LeftNames.
	maxLeftNames = 5
	// maxExamined is the maximum number of orphans that are examined for Exit.Left. A task that forks without end has
	// thousands.
	maxExamined = 500
)

// runningOrphans returns the names of the processes that still run after the task's main process has ended. It counts
// only those that are children of this process now, not their own children.
func (p *process) runningOrphans() (names []string) {
	pids := orphans()
	for _, pid := range pids[:min(len(pids), maxExamined)] {
		group, err := syscall.Getpgid(pid)
		if pid == p.pid || err != nil || !p.owns(pid, group) {
			continue
		}
		if name := nameOf(pid); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// owns reports whether a process in this process group belongs to the task p, by that group, its mark, its marker or
// the task's own cgroup.
func (p *process) owns(pid, group int) bool {
	return group == p.pid || hasMark(pid, p.mark) || hasVariable(pid, p.marker) || p.group.has(pid)
}

// reportEnded examines the tasks whose main process was reaped. It reports the end of each task that has no other
// process left, and returns the remaining processes of the other tasks. The caller holds mu.
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

// The sweeper starts its next round when a child has ended, or after sweepInterval. Before that it always pauses for
// sweepPause, so that thousands of children that end in the meantime need only one round.
const (
	sweepInterval = 20 * time.Millisecond
	sweepPause    = time.Millisecond
)

// sweep kills the processes that a main process has left behind, and reports the end of the task when all of them have
// ended. After a requested kill, it leaves processes that handle SIGTERM the rest of their grace. Each round kills all
// remaining processes again and does not wait for those of the last round: otherwise a fork bomb could keep the
// sweeper waiting forever.
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
					killWithGroup(pid, p.pid)
				}
				if len(left[p]) > 0 {
					p.group.kill()
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

// killWithGroup kills a child. It also kills the child's process group, if the child leads that group or if it is
// taskGroup, the group of the task. One signal reaches every process of a group, and none of them can fork before it
// dies.
func killWithGroup(pid, taskGroup int) {
	if group, err := syscall.Getpgid(pid); err == nil && (group == pid || group == taskGroup) {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// orphansByTask returns the orphans of each task whose main process has ended. An orphan belongs to the task whose
// process group, mark or marker it has. If only one task is left, every orphan belongs to it, even an orphan that has
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
			if p.owns(pid, group) || len(s.processes) == 1 {
				left[p] = append(left[p], pid)
				break
			}
		}
	}
	return left
}

// killAll kills all children until this process has none. Then it has no other descendant either, because a subreaper
// inherits each descendant whose parent has ended.
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

// KillChildren kills the processes that a dead supervisor left behind: every child of this process with the child's
// process group, and the orphans that this process inherits from them. It returns nil when no child is left, or the
// pids of the remaining children when timeout has passed. Each round kills all children again, because a child can
// fork until it is dead. The calling process must have no children but those that it inherited, and Close must have
// returned.
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
