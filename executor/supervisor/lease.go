package supervisor

import (
	"time"

	"golang.org/x/sys/unix"
)

// leaseCheckInterval is the interval between two checks of the ends of leases. A timer would end a task too late,
// because timers stop while the machine is suspended.
const leaseCheckInterval = 500 * time.Millisecond

// bootTime returns the time of CLOCK_BOOTTIME, which continues while the machine is suspended.
func bootTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // this can't fail on Linux
	return time.Duration(t.Nano())
}

// renew moves the end of a process's lease to a later time.
func (s *server) renew(id uint64, until time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.processes[id]; p != nil && p.until > 0 {
		p.until = max(p.until, until)
	}
}

// watchLeases ends each process whose lease is over, even if the executor hangs or is stopped. Like reap and sweep, it
// runs for the rest of this process's life.
func (s *server) watchLeases() {
	for range s.leased {
		for s.endLeases(bootTime()) {
			time.Sleep(leaseCheckInterval)
		}
	}
}

// endLeases ends the processes whose lease is over at the time now, and reports whether any process has a lease. The
// grace counts from the end of the lease. If this check is late because the machine was suspended, little or nothing of
// the grace is left.
func (s *server) endLeases(now time.Duration) (anyLeased bool) {
	var over []*process
	s.mu.Lock()
	for _, p := range s.processes {
		anyLeased = anyLeased || p.until > 0
		if p.until > 0 && now >= p.until {
			p.leaseOver = true
			over = append(over, p)
		}
	}
	s.mu.Unlock()
	for _, p := range over {
		s.kill(p.id, max(p.until+p.leaseGrace-now, 0))
	}
	return anyLeased
}
