package supervisor

import (
	"time"

	"golang.org/x/sys/unix"
)

// leaseCheckInterval is the interval between two looks at the ends of leases. Timers stop while the machine is
// suspended, so a timer alone would end a task too late.
const leaseCheckInterval = 500 * time.Millisecond

// bootTime returns the time of CLOCK_BOOTTIME, which goes on while the machine is suspended.
func bootTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // it can't fail on Linux
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

// watchLeases ends each process whose lease is over, also if the executor hangs or is stopped. It never ends, like reap
// and sweep.
func (s *server) watchLeases() {
	for range s.leased {
		for s.endLeases(bootTime()) {
			time.Sleep(leaseCheckInterval)
		}
	}
}

// endLeases ends the processes whose lease is over at a time, and returns whether there are any with a lease. What is
// left of the grace counts from the end of the lease: whoever looks late, because the machine was suspended, kills at
// once.
func (s *server) endLeases(now time.Duration) (some bool) {
	var over []*process
	s.mu.Lock()
	for _, p := range s.processes {
		some = some || p.until > 0
		if p.until > 0 && now >= p.until {
			p.leaseOver = true
			over = append(over, p)
		}
	}
	s.mu.Unlock()
	for _, p := range over {
		s.kill(p.id, max(p.until+p.leaseGrace-now, 0))
	}
	return some
}
