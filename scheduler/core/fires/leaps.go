package fires

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

const (
	// leapLength is the minimum distance that counts as a leap of the wall clock, forwards or back. Shorter steps back
	// are waited for (rule F4).
	leapLength = 24 * time.Hour
	// recordedLeap is the minimum advance of the cursor that is remembered. It is shorter, because the clock may have
	// been behind the cursor before it leapt.
	recordedLeap = leapLength / 2
	// leapRetention is for how long fires must be made after a leap until the clock counts as right.
	leapRetention = 30 * 24 * time.Hour
	// maxLeaps and maxMadeSpans bound what the cursor's record holds. Beyond them, the shortest leap and the shortest
	// distance between two spans are forgotten.
	maxLeaps     = 8
	maxMadeSpans = 32
)

// leap is an advance of the cursor by more than recordedLeap. It comes from a wall clock that is wrong, from a time
// without a leader, or from jobs that fire rarely; nothing tells these apart, and nothing depends on it.
type leap struct {
	// Before is the cursor before the leap. It is taken back to there when the clock is set back.
	Before fireCursor `json:"before"`
	// From is the first time of the wall clock at which fires were made after the leap.
	From time.Time `json:"from"`
	// Reported is set if fires were missed by it, or the wall clock was seen to leap: people are told for a day.
	Reported bool `json:"reported,omitempty"`
}

// span is a period whose fires were made while the clock was ahead. Both ends belong to it.
type span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

func (s span) contains(at time.Time) bool { return !at.Before(s.From) && !at.After(s.To) }

// madeUpFires are the fires of one job that were made for a missed window longer than recordedLeap: those of its
// schedule in the span, which ends with the window. They are stored for each job, also for a removed one, because a job
// of that name may be registered again.
type madeUpFires struct {
	span
	// Since is the job's Since before, which FiredUpTo has replaced by the end of the span.
	Since time.Time `json:"since"`
}

// recordLeap remembers that the cursor is about to advance by a leap.
func (f *Fires) recordLeap(to time.Time) {
	before := f.cursor
	if before.Time.IsZero() {
		before.Time = time.Unix(0, 0).UTC() // the clock may be wrong when the very first term begins
	} else if to.Sub(before.Time) <= recordedLeap {
		return
	}
	reported := !f.cursor.Time.IsZero() &&
		(f.missed != nil && to.Sub(before.Time) > leapLength || !f.leapt.IsZero())
	f.leaps = append(f.leaps, leap{Before: before, From: to, Reported: reported})
	if len(f.leaps) > maxLeaps {
		shortest := slices.MinFunc(f.leaps, func(a, b leap) int {
			return int(a.From.Sub(a.Before.Time).Seconds() - b.From.Sub(b.Before.Time).Seconds())
		})
		f.leaps = slices.Delete(f.leaps, slices.Index(f.leaps, shortest), slices.Index(f.leaps, shortest)+1)
	}
}

// forgetPassed forgets leaps after which fires were made for leapRetention, and fires that the cursor has passed and
// cannot be taken back before.
func (f *Fires) forgetPassed() {
	until := f.cursor.Time
	for i := len(f.leaps) - 1; i >= 0; i-- {
		if until.Sub(f.leaps[i].From) > leapRetention {
			f.leaps = slices.Delete(f.leaps, 0, i+1)
			break
		}
		until = f.leaps[i].Before.Time
	}
	earliest := f.cursor.Time
	if len(f.leaps) > 0 {
		earliest = f.leaps[0].Before.Time
	}
	passed := func(s span) bool { return s.To.Before(earliest) }
	f.made = slices.DeleteFunc(f.made, passed)
	if !earliest.After(f.checkedMadeUp) {
		return
	}
	f.checkedMadeUp = earliest.Add(leapLength)
	for name, all := range f.madeUp {
		if all = slices.DeleteFunc(all, func(m madeUpFires) bool { return passed(m.span) }); len(all) == 0 {
			delete(f.madeUp, name)
			f.changedMadeUp.Add(name)
		} else {
			f.madeUp[name] = all
		}
	}
}

// takeBack takes the cursor back to before a leap, if the wall clock was set back to before it. Later fires that were
// made stay made. It also takes back from when on jobs make fires that were registered, enabled or changed in between
// (rule F2). Both are checked when the clock was set, and once in each term.
func (f *Fires) takeBack() {
	wall := f.st.Wall()
	from := f.cursor
	for n := len(f.leaps) - 1; n >= 0 && f.cursor.Time.Sub(wall) > leapLength && wall.Before(f.leaps[n].From); n-- {
		f.addMade(span{From: f.leaps[n].From, To: f.cursor.Time})
		f.cursor, f.leaps, f.cursorChanged = f.leaps[n].Before, f.leaps[:n], true
	}
	reset := f.cursor != from
	for name, j := range f.st.Config.AllJobs() {
		since := j.Since()
		for since.Sub(wall) > leapLength {
			since = f.sinceBefore(name, since)
		}
		if !since.Equal(j.Since()) {
			f.st.Config.SetSince(j, since)
			reset = true
		}
	}
	if !reset {
		return
	}
	f.due, f.missed, f.behind, f.leapt = nil, nil, false, time.Time{}
	f.planAll()
	f.st.NeedChanged()
	if f.cursor != from {
		f.st.Note(step.Note{Kind: step.NoteClockBack, Why: reason.FiresTakenBack(from.Time, f.cursor.Time)})
	}
}

// sinceBefore returns a job's Since before it was set to a time while the clock was ahead; the present time if fires
// of a missed window were not what set it.
func (f *Fires) sinceBefore(name string, since time.Time) time.Time {
	for _, m := range f.madeUp[name] {
		if m.To.Equal(since) && m.Since.Before(since) {
			return m.Since
		}
	}
	return f.st.Wall()
}

// addMade adds a span to those whose fires were made, and merges it with those that it touches.
func (f *Fires) addMade(s span) {
	f.made = append(f.made, s)
	slices.SortFunc(f.made, func(a, b span) int { return a.From.Compare(b.From) })
	for at := 1; at < len(f.made); {
		if f.made[at].From.After(f.made[at-1].To) {
			at++
			continue
		}
		f.mergeMade(at)
	}
	for len(f.made) > maxMadeSpans {
		nearest := 1
		for i := range f.made[1:] {
			if f.made[i+1].From.Sub(f.made[i].To) < f.made[nearest].From.Sub(f.made[nearest-1].To) {
				nearest = i + 1
			}
		}
		f.mergeMade(nearest)
	}
}

// mergeMade merges a span with the one before it.
func (f *Fires) mergeMade(at int) {
	if f.made[at].To.After(f.made[at-1].To) {
		f.made[at-1].To = f.made[at].To
	}
	f.made = slices.Delete(f.made, at, at+1)
}

// madeIn returns the span in which a fire of a job was made while the clock was ahead, and false for one that was not.
func (f *Fires) madeIn(name string, at time.Time) (span, bool) {
	for _, s := range f.made {
		if s.contains(at) {
			return s, true
		}
	}
	for _, m := range f.madeUp[name] {
		if m.contains(at) {
			return m.span, true
		}
	}
	return span{}, false
}

// firstAfter returns the first fire of a job after a time that was not made while the clock was ahead; zero for none.
func (f *Fires) firstAfter(j *config.Job, after time.Time) time.Time {
	at := j.Schedule().Next(after)
	for s, made := f.madeIn(j.Name(), at); made && !at.IsZero(); s, made = f.madeIn(j.Name(), at) {
		at = j.Schedule().Next(s.To)
	}
	return at
}

// newest returns the newest fires of a job in a missed window, at most limit of them, without those that were made
// while the clock was ahead.
func (f *Fires) newest(j *config.Job, from, upTo time.Time, limit int) []time.Time {
	for s, made := f.madeIn(j.Name(), upTo); made; s, made = f.madeIn(j.Name(), upTo) {
		upTo = s.From.Add(-time.Second)
	}
	if !upTo.After(from) {
		return nil
	}
	return slices.DeleteFunc(j.Schedule().Latest(from, upTo, limit), func(at time.Time) bool {
		_, made := f.madeIn(j.Name(), at)
		return made
	})
}

// recordMadeUp remembers the fires of a job that are made for a missed window, the first of which is at first, if the
// cursor might be taken back before them.
func (f *Fires) recordMadeUp(j *config.Job, first, upTo time.Time) {
	if upTo.Sub(f.cursor.Time) <= recordedLeap {
		return
	}
	f.madeUp[j.Name()] = append(f.madeUp[j.Name()], madeUpFires{span{first, upTo}, j.Since()})
	f.changedMadeUp.Add(j.Name())
}

// RestoreMadeUp sets the stored fires of a job that were made for missed windows, while a term is loaded.
func (f *Fires) RestoreMadeUp(name string, value []byte) error {
	var all []madeUpFires
	if err := json.Unmarshal(value, &all); err != nil {
		return err
	}
	f.madeUp[name] = all
	return nil
}

// Leapt returns the last leap of less than a day ago by which fires were missed, or by which the wall clock was seen to
// leap: the times before and after it. Both are zero if there is none.
func (f *Fires) Leapt() (before, after time.Time) {
	for _, l := range slices.Backward(f.leaps) {
		if l.Reported && f.st.Wall().Sub(l.From).Abs() < leapLength {
			return l.Before.Time, l.From
		}
	}
	return time.Time{}, time.Time{}
}

// MadeUntil returns until when, by the wall clock, fires are not made because they were made while the clock was ahead;
// zero if the wall clock is in no such period.
func (f *Fires) MadeUntil() time.Time {
	for _, s := range f.made {
		if s.contains(f.st.Wall()) {
			return s.To
		}
	}
	return time.Time{}
}
