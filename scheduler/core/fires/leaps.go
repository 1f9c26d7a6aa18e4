package fires

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs/cron/cursor"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// takeBack takes the cursor back to where it was before a leap of the wall clock, if the clock has been set back to a
// time before that leap (rule F4). Jobs that were registered, enabled or changed while the clock was ahead make fires
// from now on (rule F2).
func (f *Fires) takeBack() {
	wall, from := f.st.Wall(), f.cursor.Time
	back := f.cursor.TakeBack(wall)
	reset := back
	for _, j := range f.st.Config.AllJobs() {
		if j.Since().Sub(wall) > cursor.MinLeap {
			f.st.Config.SetSince(j, wall)
			reset = true
		}
	}
	if !reset {
		return
	}
	f.due, f.missed, f.behind = nil, nil, false
	f.planAll()
	f.st.NeedChanged()
	if back {
		f.cursorChanged = true
		f.st.Note(step.Note{Kind: step.NoteClockBack, Why: reason.FiresTakenBack(from, f.cursor.Time)})
	}
}

// madeAt returns the span in which a fire of a job was made before the cursor was taken back, or for a missed window,
// and false for any other fire.
func (f *Fires) madeAt(name string, at time.Time) (cursor.Span, bool) {
	for _, s := range f.madeUp[name] {
		if s.Contains(at) {
			return s, true
		}
	}
	return f.cursor.MadeAt(at)
}

// firstAfter returns the first fire of a job after a time that was not made already; zero for none.
func (f *Fires) firstAfter(j *config.Job, after time.Time) time.Time {
	at := j.Schedule().Next(after)
	for !at.IsZero() {
		span, made := f.madeAt(j.Name(), at)
		if !made {
			break
		}
		at = j.Schedule().Next(span.To)
	}
	return at
}

// newest returns the newest fires of a job in a missed window, at most limit of them. It then leaves out those that
// were made already.
func (f *Fires) newest(j *config.Job, from, upTo time.Time, limit int) []time.Time {
	return slices.DeleteFunc(j.Schedule().Latest(from, upTo, limit), func(at time.Time) bool {
		_, made := f.madeAt(j.Name(), at)
		return made
	})
}

// recordMadeUp records that the fires of a job in a missed window are made from the time first on. So they are not
// made again if a crash follows before the cursor has crossed the window, or if the cursor is taken back before the
// window.
func (f *Fires) recordMadeUp(j *config.Job, first, upTo time.Time) {
	f.madeUp[j.Name()] = append(f.madeUp[j.Name()], cursor.Span{From: first, To: upTo})
	f.changedMadeUp.Add(j.Name())
}

// forgetMadeUp forgets the spans in madeUp before which the cursor cannot be taken back any more. It iterates over all
// of them, so it does this at most once a day.
func (f *Fires) forgetMadeUp() {
	earliest := f.cursor.Earliest()
	if !earliest.After(f.checkedMadeUp) {
		return
	}
	f.checkedMadeUp = earliest.Add(24 * time.Hour)
	for name, spans := range f.madeUp {
		kept := slices.DeleteFunc(spans, func(s cursor.Span) bool { return s.To.Before(earliest) })
		if f.madeUp[name] = kept; len(kept) == 0 {
			delete(f.madeUp, name)
			f.changedMadeUp.Add(name)
		}
	}
}

// Leapt returns the times before and after the last leap of the wall clock that users are told about: a leap less than
// a day ago that this leader has seen, or in which fires were missed. Both times are zero if there is none.
func (f *Fires) Leapt() (before, after time.Time) {
	recent := func(at time.Time) bool {
		since := f.st.Wall().Sub(at)
		return since >= 0 && since < cursor.MinLeap
	}
	if recent(f.leapt.To) {
		return f.leapt.From, f.leapt.To
	}
	for _, l := range slices.Backward(f.cursor.Leaps) {
		if l.Reported && recent(l.From) {
			return l.Before.Time, l.From
		}
	}
	return time.Time{}, time.Time{}
}

// MadeUntil returns until when, by the wall clock, fires are not made because they were made while the clock was ahead;
// zero if the wall clock is in no such period.
func (f *Fires) MadeUntil() time.Time {
	s, _ := f.cursor.MadeAt(f.st.Wall())
	return s.To
}
