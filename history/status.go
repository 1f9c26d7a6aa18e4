package history

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Status is how the history stands.
type Status struct {
	// Waiting are rows in the outbox, Oldest since when the first of them waits; zero if none is known to.
	Waiting int64
	Oldest  time.Time
	// Bytes of the outbox's files, and their Bound.
	Bytes, Bound int64
	// Aside are batches of which nobody knows yet whether they are true.
	Aside int
	// Written are rows that were written to the database since the start, and LastWritten when that was last.
	Written     int64
	LastWritten time.Time
	// Lost are rows that are lost since the start, LostLast is when that was last, Damaged counts bytes of the outbox.
	Lost     Lost
	LostLast time.Time
	Damaged  int64
	// Hanging: the outbox's disk does not answer.
	Hanging bool
	// Down is why the database can't be written to, since DownSince; empty when it can.
	Down      string
	DownSince time.Time
}

// Lost counts rows that are lost, by cause.
type Lost struct {
	Full    int64 // the outbox has reached its bound
	Failed  int64 // its disk is full, fails, or has damaged them
	Refused int64 // the database refuses them for their content
}

// Status says how the history stands. It waits for nothing.
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

// warnLost is for how long Warning speaks of a loss.
const warnLost = time.Hour

// Warning is what an operator should look at, in one sentence; empty when there is nothing. now is the wall clock.
func (s Status) Warning(now time.Time) string {
	var w []string
	if now.Sub(s.LostLast) < warnLost || s.Damaged > 0 {
		w = append(w, fmt.Sprintf("%d rows of the history are lost, and %d damaged bytes of its outbox, since the start; the log says why",
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

// alarm lets a message pass once, and then at most once a minute.
type alarm struct {
	mu   sync.Mutex
	last time.Time
	held int64
}

const alarmEvery = time.Minute

// due counts n, and says whether to say so now, and how many there were since it was said last.
func (a *alarm) due(n int64) (int64, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held += n
	if now := time.Now(); a.last.IsZero() || now.Sub(a.last) >= alarmEvery {
		a.last, n, a.held = now, a.held, 0
		return n, true
	}
	return 0, false
}

// rest is how many there were since it was said last, if that is a minute ago: they are said now, though there are no
// more of them.
func (a *alarm) rest() (n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := time.Now(); a.held > 0 && now.Sub(a.last) >= alarmEvery {
		a.last, n, a.held = now, a.held, 0
	}
	return n
}
