// Package fires makes executions for the crons of all jobs: for fires that are due and for fires of a missed window.
// It also applies the rule for a job that is busy (rules F1 to F5).
//
// It owns the timetable, which is rebuilt in each term, and the cursor up to which fires were made, which is stored.
// The cursor goes back only after a leap of the wall clock (leaps.go), and the fires that were made meanwhile are
// remembered, so no fire is made twice. The package makes no fires of daemons. It decides neither whether a job is
// active nor where its executions run.
package fires

import (
	"encoding/json"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs/cron"
	"github.com/elasticjob-go/elasticjob/jobs/cron/cursor"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/recording"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// lastName sorts after every valid name of a job.
const lastName = "~"

// dueBatch is a time whose fires are being made, over several commits if there are many.
type dueBatch struct {
	at    time.Time
	names []string
}

// missedWindow is a period whose fires were not made and are too old to be made like any others. A new leader finds
// one after an outage, and a leader after a leap of its clock (rule F3).
type missedWindow struct {
	upTo  time.Time
	names []string // jobs still to check, sorted
}

// Fires makes the fires of the crons of all jobs, and owns the cursor up to which they were made.
type Fires struct {
	st        *state.State
	recording *recording.Recording
	timetable *cron.Timetable
	// cursor goes back only in takeBack; cursorChanged is set when its record differs from the stored one.
	cursor        cursor.Cursor
	cursorChanged bool
	// madeUp has, by job, the spans whose fires were made for missed windows. They are kept until the cursor has
	// passed them and cannot be taken back. Those of a removed job are also kept, because a job of that name may be
	// registered again. checkedMadeUp is the time that the cursor must pass before they are checked again.
	madeUp        map[string][]cursor.Span
	changedMadeUp store.Changed
	checkedMadeUp time.Time
	// leapt is the wall clock before and after its last leap in this term.
	leapt cursor.Span
	// clockChecked is set once takeBack was called since the clock was set.
	clockChecked bool
	// missed is the missed window that is being processed, due the batch that is being made; nil if there is none.
	// Only one of them is processed at a time, the missed window first.
	missed *missedWindow
	due    *dueBatch
	// behind is set while the wall clock is behind the cursor (rule F4).
	behind bool
	// loading is set between BeginLoading and EndLoading.
	loading bool
	// upcoming is the last result of Upcoming. Its memory is reused, because nearly every step calls Upcoming.
	upcoming []executions.Fire
}

// New returns Fires without jobs. There is no cursor before Restore or the first MakeDue.
func New(s *state.State, r *recording.Recording) *Fires {
	return &Fires{st: s, recording: r, timetable: cron.NewTimetable(), madeUp: map[string][]cursor.Span{}}
}

// Write adds the cursor, the memory of leaps and the made-up spans to the commit, as far as they have changed.
func (f *Fires) Write(r *store.Commit) {
	if f.cursorChanged {
		r.Put(store.PathCursor, f.cursor.Position)
		f.cursorChanged = false
	}
	if f.cursor.MemoryChanged {
		r.Put(store.PathLeaps, f.cursor.Memory)
		f.cursor.MemoryChanged = false
	}
	store.PutChanged(r, store.PathMadeUp, f.madeUp, &f.changedMadeUp)
}

// advance moves the cursor forward, never back.
func (f *Fires) advance(to cursor.Position) {
	missed := f.missed != nil && to.Time.Sub(f.cursor.Time) > cursor.MinLeap
	if f.cursor.Advance(to, missed) {
		f.cursorChanged = true
		f.forgetMadeUp()
	}
}

// searchFrom returns the time after which a schedule's first fire is searched: a second before the cursor, because
// fires of the cursor's own second may still have to be made.
func (f *Fires) searchFrom(wall time.Time) time.Time {
	if f.cursor.Time.IsZero() {
		return wall
	}
	return f.cursor.Time.Add(-time.Second)
}

// Next returns when the next fires are due, by the wall clock; false if no job fires.
func (f *Fires) Next() (time.Time, bool) {
	if f.due != nil {
		return f.due.at, true
	}
	return f.timetable.NextAt()
}

// Making reports whether the batch that is being made, if there is one, is due up to a time of the term. After the
// clock was set back, the batch may be due later.
func (f *Fires) Making(upTo time.Time) bool {
	return f.due != nil && !f.st.InTerm(f.due.at).After(upTo)
}

// Upcoming returns the fires up to a time of the wall clock that are still to be made, in no order, or false if there
// are more than limit. After the clock was set back, fires that were made already are due again; Upcoming leaves them
// out. The fires are valid until the next call.
func (f *Fires) Upcoming(upTo time.Time, limit int) ([]executions.Fire, bool) {
	f.upcoming = f.upcoming[:0]
	tooMany := f.timetable.Soon(upTo, func(job string, at time.Time) bool {
		if _, made := f.madeAt(job, at); !made && !f.cursor.Covers(at, job) {
			f.upcoming = append(f.upcoming, executions.Fire{Job: job, At: at})
		}
		return len(f.upcoming) > limit
	})
	return f.upcoming, !tooMany
}

// Restore sets the stored cursor while a term is loaded.
func (f *Fires) Restore(value []byte) error { return json.Unmarshal(value, &f.cursor.Position) }

// RestoreLeaps sets what is remembered of leaps while a term is loaded.
func (f *Fires) RestoreLeaps(value []byte) error { return json.Unmarshal(value, &f.cursor.Memory) }

// RestoreMadeUp sets the spans of a job whose fires were made for missed windows, while a term is loaded.
func (f *Fires) RestoreMadeUp(name string, value []byte) error {
	var spans []cursor.Span
	err := json.Unmarshal(value, &spans)
	f.madeUp[name] = spans
	return err
}

// BeginLoading begins the loading of a term, which lasts until EndLoading. Meanwhile jobs with the same cron are put
// into one group of the timetable, which includes their missed fires.
func (f *Fires) BeginLoading() { f.loading = true }

// EndLoading ends the loading that BeginLoading began.
func (f *Fires) EndLoading() { f.loading = false }

// SetSchedule adds a job to the timetable with its present schedule, or removes it if it is not active, has no
// schedule or is a daemon.
func (f *Fires) SetSchedule(j *config.Job, active bool) {
	if !active || !j.MakesFires() {
		f.timetable.Remove(j.Name())
		return
	}
	from := f.searchFrom(f.st.Wall())
	if !f.loading && j.Since().After(from) {
		from = j.Since() // the job has missed no fires before that
	}
	f.timetable.Set(j.Name(), j.Schedule(), from)
}

// planAll builds the timetable of all jobs again, from the cursor on.
func (f *Fires) planAll() {
	f.timetable, f.loading = cron.NewTimetable(), true
	for _, j := range f.st.Config.AllJobs() {
		f.SetSchedule(j, f.st.Config.Inactive(j) == config.Active)
	}
	f.loading = false
}

// BehindUntil returns until when, by the wall clock, no fires are made because the clock is behind the last ones (rule
// F4); zero if it is not.
func (f *Fires) BehindUntil() time.Time {
	if !f.behind {
		return time.Time{}
	}
	return f.cursor.Time
}

// MadeUpTo returns the time of the wall clock up to which fires were made. Some fires of that time itself may still
// have to be made.
func (f *Fires) MadeUpTo() time.Time { return f.cursor.Time }

// NextOf returns the first fire of a job that was not made yet. For a daemon, whose executors make its fires, it is
// the next one by the wall clock. It is zero if the job does not fire.
func (f *Fires) NextOf(j *config.Job) time.Time {
	if j.Schedule() == nil || j.Config() == nil || f.st.Config.Inactive(j) != config.Active {
		return time.Time{}
	}
	if !j.MakesFires() {
		return j.Schedule().Next(f.st.Wall())
	}
	return f.NextAfter(j, f.cursor.Time)
}

// NextAfter returns the first fire of a job after a time that was not made yet. For a daemon it is just the first fire
// after that time. It is zero if there is none.
func (f *Fires) NextAfter(j *config.Job, after time.Time) time.Time {
	if !j.MakesFires() {
		return j.Schedule().Next(after)
	}
	if j.Since().After(after) {
		after = j.Since()
	}
	return f.firstAfter(j, after)
}

// Wake returns when a step is needed for fires, in the time of the term; zero for never. That is when the next fires
// are due or, if that time has not passed yet, when offers for them are requested, which is earlier by lead.
func (f *Fires) Wake(lead time.Duration) (at time.Time) {
	earlier := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if f.behind {
		return f.st.InTerm(f.cursor.Time)
	}
	if t, ok := f.Next(); ok {
		due := f.st.InTerm(t)
		earlier(due)
		if request := due.Add(-lead); request.After(f.st.Now()) { // a time that has passed needs no step
			earlier(request)
		}
	}
	if f.missed != nil || f.due != nil {
		earlier(f.st.Now())
	}
	return at
}

// MissedLeft returns how many jobs are still to be checked for missed fires; false if no missed window is being
// processed.
func (f *Fires) MissedLeft() (left int, found bool) {
	if f.missed == nil {
		return 0, false
	}
	return len(f.missed.names), true
}

// InBatch reports whether the fires of one time are being made over several steps.
func (f *Fires) InBatch() bool { return f.due != nil }
