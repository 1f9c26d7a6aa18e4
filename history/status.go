package history

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Status is the state of the history.
type Status struct {
	// Waiting counts the rows in the outbox that are neither written nor set aside. Oldest is the time at which the
	// first of them was recorded; zero if unknown.
	Waiting int64
	Oldest  time.Time
	// Bytes is the size of the outbox's files, and Bound is the limit of that size.
	Bytes, Bound int64
	// Aside counts the batches that are set aside because their outcome is unknown.
	Aside int
	// Written counts the rows that were written to the database since the start; LastWritten is the time of the last
	// write.
	Written     int64
	LastWritten time.Time
	// Lost counts the rows that were lost since the start. LostLast is the time of the last loss. Damaged counts the
	// damaged bytes of the outbox.
	Lost     Lost
	LostLast time.Time
	Damaged  int64
	// Hanging reports that the disk of the outbox does not answer.
	Hanging bool
	// Down says why the database can't be written to, and DownSince since when; Down is empty if it can.
	Down      string
	DownSince time.Time
}

// Lost counts lost rows by cause.
type Lost struct {
	Full    int64 // the outbox was full
	Failed  int64 // the disk of the outbox was full, failed, or damaged the rows
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

// lossWarningPeriod is how long Warning reports lost rows. It reports damage until the process ends.
const lossWarningPeriod = time.Hour

// Warning returns a text about what needs an operator's attention, or "" if nothing does. now is the wall clock.
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
	last time.Time // the last log
	held int64     // the count since then
}

const throttleInterval = time.Minute

// due adds n to the count of events. If the message may be logged now, it returns the count since the last log and
// true.
func (t *logThrottle) due(n int64) (count int64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held += n
	if now := time.Now(); t.last.IsZero() || now.Sub(t.last) >= throttleInterval {
		t.last, count, t.held = now, t.held, 0
		return count, true
	}
	return 0, false
}

// overdue returns the count since the last log if that was at least a minute ago, and 0 otherwise. Its caller then logs
// the last events, even if no more follow.
func (t *logThrottle) overdue() (count int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); t.held > 0 && now.Sub(t.last) >= throttleInterval {
		t.last, count, t.held = now, t.held, 0
	}
	return count
}
