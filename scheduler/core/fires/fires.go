package fires

import (
	"encoding/json"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs/cron"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/recording"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
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

// Fires are the crons of all jobs, and how far their fires have been made.
type Fires struct {
	*state.State
	recording *recording.Recording
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

func New(s *state.State, r *recording.Recording) *Fires {
	return &Fires{State: s, recording: r, timetable: cron.NewTimetable()}
}

// write adds the cursor to the commit, if it has changed.
func (f *Fires) Write(r *store.Commit) {
	if f.cursorChanged {
		r.Put(store.PathCursor, f.cursor)
		f.cursorChanged = false
	}
}

// next is when the next fires are due.
func (f *Fires) next() (time.Time, bool) {
	if f.due != nil {
		return f.due.at, true
	}
	return f.timetable.NextAt()
}

// advance moves the cursor forward, never back.
func (f *Fires) advance(to fireCursor) {
	if f.cursor.Time.After(to.Time) || f.cursor.Time.Equal(to.Time) && f.cursor.Job >= to.Job {
		return
	}
	f.cursor, f.cursorChanged = to, true
}

// from is the moment after which a schedule's first fire is looked for:
// the cursor, and its own second again while not all jobs that fire in it are done.
func (f *Fires) from(wall time.Time) time.Time {
	if f.cursor.Time.IsZero() {
		return wall
	}
	return f.cursor.Time.Add(-time.Second)
}

// Next is when the next fires are due.
func (f *Fires) Next() (time.Time, bool) { return f.next() }

// Making reports whether a batch that is due up to a moment of the term is being made. It is later than that after the clock
// was set back.
func (f *Fires) Making(upTo time.Time) bool { return f.due != nil && !f.InTerm(f.due.at).After(upTo) }

// Soon calls fn with the fires to come up to a moment of the wall clock until it returns true, and reports whether it did.
func (f *Fires) Soon(upTo time.Time, fn func(job string, fire time.Time) bool) bool {
	return f.timetable.Soon(upTo, fn)
}

// Made reports whether a fire was made already.
func (f *Fires) Made(job string, fire time.Time) bool { return f.cursor.covers(fire, job) }

// restore takes in the cursor that is stored.
func (f *Fires) Restore(value []byte) error { return json.Unmarshal(value, &f.cursor) }

// beginLoading says that a term is loaded, until endLoading: jobs with the same cron then share a group, which has their
// missed fires to catch up.
func (f *Fires) BeginLoading() { f.loading = true }

func (f *Fires) EndLoading() { f.loading = false }

// follow has a job's fires be made by its schedule from now on, if it has one and they are made here, or not.
func (f *Fires) Follow(j *config.Job, active bool) {
	if !active || !j.FiredHere() {
		f.timetable.Remove(j.Name())
		return
	}
	from := f.from(f.Wall())
	if !f.loading && j.Since().After(from) {
		from = j.Since() // its own group has nothing to catch up
	}
	f.timetable.Set(j.Name(), j.Schedule(), from)
}

// behindUntil is until when, by the wall clock, no fires are made since the clock is behind the last ones (rule F4); zero
// while it is not.
func (f *Fires) BehindUntil() time.Time {
	if !f.behind {
		return time.Time{}
	}
	return f.cursor.Time
}

// madeUpTo is the moment up to which fires were made.
func (f *Fires) MadeUpTo() time.Time { return f.cursor.Time }

// nextOf is the first fire of a job that was not made yet, by its executors if it is a daemon; zero for none.
func (f *Fires) NextOf(j *config.Job) time.Time {
	if j.Schedule() == nil || j.Config() == nil || f.Config.Inactive(j) != config.Active {
		return time.Time{}
	}
	from := f.Wall()
	if j.FiredHere() {
		if from = f.cursor.Time; j.Since().After(from) {
			from = j.Since()
		}
	}
	return j.Schedule().Next(from)
}

// wake is when a step is wanted for fires: at the next, and a lead before it, when offers for it are asked for. It is zero
// for never.
func (f *Fires) Wake(lead time.Duration) (at time.Time) {
	earlier := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if f.behind {
		return f.InTerm(f.cursor.Time)
	}
	if t, ok := f.next(); ok {
		due := f.InTerm(t)
		earlier(due)
		if ask := due.Add(-lead); ask.After(f.Now()) { // a moment that has passed wakes nobody
			earlier(ask)
		}
	}
	if f.missed != nil || f.due != nil {
		earlier(f.Now())
	}
	return at
}

// Names: jobs still to look at, sorted
func (m *missedWindow) Names() []string { return m.names }

// Cursor never goes back; cursorChanged is set when it differs from what is stored.
func (f *Fires) Cursor() fireCursor { return f.cursor }

// Missed is the missed window that is being crossed, due the batch that is being made; nil while there is none. Only one of them is worked on at a time, the missed window first.
func (f *Fires) Missed() *missedWindow { return f.missed }

// Due is the due.
func (f *Fires) Due() *dueBatch { return f.due }
