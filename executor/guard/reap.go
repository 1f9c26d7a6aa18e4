package guard

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// reapAtOnce bounds how many children are reaped while others wait for the lock.
const reapAtOnce = 4096

// reap waits for children, whoever's they were, for ever. All that have ended by then are reaped under one lock, and
// looked at together: a task that forks without end leaves thousands behind, and one look at a time at all
// children would let the list grow for as long as it lasts.
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

// reapEnded reaps the children that have ended. Called with mu held.
func (s *server) reapEnded() {
	ended := false
	for range reapAtOnce {
		// The zombie stays until its group is signalled, so that the number is still ours.
		pid, err := peek(unix.WNOHANG)
		if err != nil || pid == 0 {
			break
		}
		p := s.byPID[pid]
		if p != nil && !p.killed {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
		var status syscall.WaitStatus
		if reaped, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil); p == nil || err != nil || reaped != pid {
			continue
		}
		delete(s.byPID, pid)
		p.exit = Exit{Status: status.ExitStatus(), Killed: p.killed, At: time.Now()}
		if status.Signaled() {
			p.exit.Signal = int(status.Signal())
		}
		s.ending[p] = true
		ended = true
	}
	if !ended {
		return
	}
	s.endWhatIsOver()
	if len(s.ending) > 0 {
		select {
		case s.toSweep <- struct{}{}:
		default:
		}
	}
}

// endWhatIsOver reports the end of each process that is ending and of which nothing is left, and gives what is left of
// the others. Called with mu held.
func (s *server) endWhatIsOver() map[*process][]int {
	left := s.leftovers()
	for p := range s.ending {
		if len(left[p]) == 0 {
			s.over(p)
		}
	}
	return left
}

// over reports the end of p. Called with mu held.
func (s *server) over(p *process) {
	if p.timer != nil {
		p.timer.Stop()
	}
	delete(s.processes, p.id)
	delete(s.ending, p)
	s.send(event{ID: p.id, Exit: &p.exit})
}

// How long the sweeper waits for something to end until it looks again, and how long it rests after each look, so that
// what ends by the thousand is looked at once.
const (
	sweepAgain = 20 * time.Millisecond
	sweepRest  = time.Millisecond
)

// sweep kills what main processes left behind, and reports their ends when nothing is left, for ever. After
// a kill, what handles SIGTERM has the rest of its grace for it. It kills in each round, whatever was reaped meanwhile.
func (s *server) sweep() {
	for range s.toSweep {
		for {
			s.mu.Lock()
			left := s.endWhatIsOver()
			wait := sweepAgain
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
			<-time.After(sweepRest)
			select {
			case <-changed:
			case <-time.After(wait):
			}
		}
	}
}

// killTree kills a child, and its process group if that is its own or ours to kill: one signal reaches all of a group,
// and none of them can fork on its way out.
func killTree(pid, ours int) {
	if group, err := syscall.Getpgid(pid); err == nil && (group == pid || group == ours) {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// leftovers lists the guard's children that came from processes that are ending: those of their group,
// those with their mark or marker, and, if nothing else runs, all. Called with mu held.
func (s *server) leftovers() map[*process][]int {
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

// killAll ends when the guard has no child any more, and so no descendant.
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

// killChildren kills all children of this process with their groups, but not its own group.
func killChildren() {
	own := syscall.Getpgrp()
	for _, pid := range children() {
		if group, err := syscall.Getpgid(pid); err == nil && group != own {
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// KillChildren kills what a guard left behind that was killed: every child of this process with its group, and what becomes
// its child by that, until there is none or patience is over. It kills in each round, so that children that end one after the
// other don't keep it from that. It gives the ids of what is left. It is for a process that has no other
// children than those that it inherited, once Close has returned.
func (c *Client) KillChildren(patience time.Duration) (left []int) {
	group := groupOf(c.PID())
	defer group.remove()
	for end := time.Now().Add(patience); ; <-time.After(time.Millisecond) {
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
