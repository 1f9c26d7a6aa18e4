package history

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Status is the state of the history.
type Status struct {
	// Waiting counts the rows in the outbox. Oldest is the time since which the first of them waits; zero if unknown.
	Waiting int64
	Oldest  time.Time
	// Bytes is the size of the outbox's files, Bound the limit.
	Bytes, Bound int64
	// Aside counts the batches that are set aside because their outcome is unknown.
	Aside int
	// Written counts the rows that were written to the database since the start; LastWritten is the time of the last
	// write.
	Written     int64
	LastWritten time.Time
	// Lost counts the rows that were lost since the start, LostLast is the time of the last loss, and Damaged counts
	// the damaged bytes of the outbox.
	Lost     Lost
	LostLast time.Time
	Damaged  int64
	// Hanging reports that the disk of the outbox does not answer.
	Hanging bool
	// Down is why the database can't be written to, since DownSince; empty if it can.
	Down      string
	DownSince time.Time
}

// Lost counts lost rows by cause.
type Lost struct {
	Full    int64 // the outbox was full
	Failed  int64 // its disk was full, failed, or has damaged them
	Refused int64 // the database refused them for their content
}

// Status returns the state of the history. It does not block.
func (r *Recorder) Status() Status {
	log := r.log.Status()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.status
	s.Waiting, s.Bytes, s.Bound, s.Aside, s.Damaged = log.Rows, log.Bytes, log.Bound, log.Aside, log.Damaged
	s.Lost.Failed += log.Lost
	s.Hanging = r.hanging > 0
	return s
}

// lossWarningPeriod is how long Warning reports a loss.
const lossWarningPeriod = time.Hour

// Warning returns one sentence about what needs an operator's attention; empty if nothing does. now is the wall clock.
func (s Status) Warning(now time.Time) string {
	var w []string
	if now.Sub(s.LostLast) < lossWarningPeriod || s.Damaged > 0 {
		w = append(w, fmt.Sprintf("%d rows of the history and %d damaged bytes of its outbox were lost since the start; see the log for reasons",
			s.Lost.Full+s.Lost.Failed+s.Lost.Refused, s.Damaged))
	}
	if s.Hanging {
		w = append(w, "the disk of the history's outbox does not answer")
	}
	if s.Down != "" && now.Sub(s.DownSince) > 5*time.Second {
		w = append(w, fmt.Sprintf("the history's database can't be written to since %s, and %d rows wait in the outbox: %s",
			s.DownSince.UTC().Format(time.RFC3339), s.Waiting, s.Down))
	}
	return strings.Join(w, "; ")
}

// logThrottle limits a message to one per minute, beginning with the first.
type logThrottle struct {
	mu   sync.Mutex
	last time.Time
	held int64
}

const throttleInterval = time.Minute

// due adds n to the count. It reports whether to log now, and the count since the last log.
func (a *logThrottle) due(n int64) (int64, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held += n
	if now := time.Now(); a.last.IsZero() || now.Sub(a.last) >= throttleInterval {
		a.last, n, a.held = now, a.held, 0
		return n, true
	}
	return 0, false
}

// overdue returns the count since the last log if that was at least a minute ago, so that the last events are logged
// even if no more follow; 0 otherwise.
func (a *logThrottle) overdue() (n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := time.Now(); a.held > 0 && now.Sub(a.last) >= throttleInterval {
		a.last, n, a.held = now, a.held, 0
	}
	return n
}
