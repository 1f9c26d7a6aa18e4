package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/jobs/cron"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// fireCursor is how far fires have been made: all before Time, and those at Time of the jobs
// up to Job by name (rule F1).
type fireCursor struct {
	Time time.Time `json:"time"`
	Job  string    `json:"job,omitempty"`
}

// lastName sorts after every name that the pattern allows.
const lastName = "~"

func (m fireCursor) covers(at time.Time, job string) bool {
	return at.Before(m.Time) || at.Equal(m.Time) && job <= m.Job
}

// dueBatch is a moment whose fires are being made, over several commits if
// there are many.
type dueBatch struct {
	at    time.Time
	names []string
}

// missedWindow is a stretch of time without fires that is too old to be run as late: a
// new leader or a clock that jumped finds one (rule F3).
type missedWindow struct {
	upto  time.Time
	names []string // jobs still to look at, sorted
}

// fires are the crons of all jobs, and how far their fires have been made.
type fires struct {
	*step.Shared
	timetable *cron.Timetable
	// cursor never goes back; cursorChanged is set when it differs from what is stored.
	cursor        fireCursor
	cursorChanged bool
	// missed is the missed window that is being crossed, due the batch that is being made; nil while there is none. Only
	// one of them is worked on at a time, the missed window first.
	missed *missedWindow
	due    *dueBatch
	// behind is set while the wall clock is behind the cursor (rule F4).
	behind bool
	// loading is set while a term is loaded. Jobs with the same cron then share a group, which has their missed fires to catch up.
	loading bool
}

func newFires(s *step.Shared) fires {
	return fires{Shared: s, timetable: cron.NewTimetable()}
}

func (f *fires) write(r *store.Commit) {
	if f.cursorChanged {
		r.Put(store.PathCursor, f.cursor)
		f.cursorChanged = false
	}
}

// next is when the next fires are due.
func (f *fires) next() (time.Time, bool) {
	if f.due != nil {
		return f.due.at, true
	}
	return f.timetable.NextAt()
}

// advance moves the cursor forward, never back.
func (f *fires) advance(to fireCursor) {
	if f.cursor.Time.After(to.Time) || f.cursor.Time.Equal(to.Time) && f.cursor.Job >= to.Job {
		return
	}
	f.cursor, f.cursorChanged = to, true
}

// from is the moment after which a schedule's first fire is looked for:
// the cursor, and its own second again while not all jobs that fire in it are done.
func (f *fires) from(wall time.Time) time.Time {
	if f.cursor.Time.IsZero() {
		return wall
	}
	return f.cursor.Time.Add(-time.Second)
}

// Next is when the next fires are due.
func (f *fires) Next() (time.Time, bool) { return f.next() }

// Making reports whether a batch that is due up to a moment of the term is being made. It is later than that after the clock
// was set back.
func (f *fires) Making(upTo time.Time) bool { return f.due != nil && !f.InTerm(f.due.at).After(upTo) }

// Soon calls fn with the fires to come up to a moment of the wall clock until it returns true, and reports whether it did.
func (f *fires) Soon(upTo time.Time, fn func(job string, fire time.Time) bool) bool {
	return f.timetable.Soon(upTo, fn)
}

// Made reports whether a fire was made already.
func (f *fires) Made(job string, fire time.Time) bool { return f.cursor.covers(fire, job) }
