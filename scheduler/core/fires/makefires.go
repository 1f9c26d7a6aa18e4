package fires

import (
	"fmt"
	"sort"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs/cron/cursor"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// MakeDue makes the fires that are due, at most Options.FiresPerStep of them in one call; if more are due, Wake
// returns the present time. It is called once in each step.
func (f *Fires) MakeDue() {
	if f.cursor.Time.IsZero() {
		f.advance(cursor.Position{Time: f.st.Wall().Truncate(time.Second), Job: lastName})
	}
	if !f.clockChecked {
		f.clockChecked = true
		f.takeBack()
	}
	if f.isClockBehind() {
		return
	}
	budget := f.st.Opt.FiresPerStep
	for budget > 0 {
		if f.missed != nil {
			budget -= f.crossMissedWindow(budget)
			continue
		}
		if f.due == nil && !f.nextDueBatch() {
			return
		}
		if f.missed == nil {
			budget -= f.fireDueBatch(budget)
		}
	}
}

// isClockBehind reports whether the wall clock is behind the fire cursor. No fires are made until it has passed the
// cursor (rule F4).
func (f *Fires) isClockBehind() bool {
	behind := f.cursor.Time.Sub(f.st.Wall())
	if behind <= time.Second {
		f.behind = false
		return false
	}
	if !f.behind {
		f.behind = true
		f.st.Note(step.Note{Kind: step.NoteClock, Problem: true, Detail: fmt.Sprintf(
			"the clock is %s behind the last fires; no fires are made until it has passed %s",
			behind.Round(time.Second), f.cursor.Time.Format(time.RFC3339))})
	}
	return true
}

// ResetClock handles a change of the wall clock: forward by change, or back if change is negative. It reports a leap.
// It drops a missed window that now ends in the future, because that end would become the cursor, and no fires would be
// made until then (rule F4).
func (f *Fires) ResetClock(change time.Duration) {
	f.clockChecked = false
	if change > cursor.MinLeap {
		f.leapt = cursor.Span{From: f.st.Wall().Add(-change), To: f.st.Wall()}
		f.noteLeap(f.leapt.From)
	}
	if f.missed != nil && f.missed.upTo.After(f.st.Wall()) {
		f.missed = nil
	}
}

// noteLeap notes a leap of the wall clock, from the time before it to the present one, for the log.
func (f *Fires) noteLeap(before time.Time) {
	f.st.Note(step.Note{Kind: step.NoteClockLeap, Problem: true, Why: reason.ClockLeapt(before, f.st.Wall())})
}

// nextDueBatch selects the next time with fires as the due batch. If that time is too long ago, it opens a missed
// window instead. It returns false if no fire is due.
func (f *Fires) nextDueBatch() bool {
	next, ok := f.timetable.NextAt()
	if !ok || next.After(f.st.Wall()) {
		return false
	}
	if old := f.st.Wall().Add(-f.st.Opt.MaxLateness).Truncate(time.Second); next.Before(old) {
		f.openMissedWindow(old)
		return true
	}
	at, names, ok := f.timetable.Pop(f.st.Wall())
	if !ok {
		return false
	}
	f.due = &dueBatch{at: at.UTC(), names: names}
	return true
}

// openMissedWindow opens a missed window from the cursor to a time of the wall clock, for all jobs that fire. It notes
// a leap if the window is that long and no recent leap explains it.
func (f *Fires) openMissedWindow(upTo time.Time) {
	if _, leapt := f.Leapt(); leapt.IsZero() && upTo.Sub(f.cursor.Time) > cursor.MinLeap {
		f.noteLeap(f.cursor.Time)
	}
	w := &missedWindow{upTo: upTo}
	for name, j := range f.st.Config.AllJobs() {
		if j.MakesFires() && f.st.Config.Inactive(j) == config.Active {
			w.names = append(w.names, name)
		}
	}
	sort.Strings(w.names)
	f.missed = w
}

// crossMissedWindow checks jobs for missed fires and returns how much of the budget that took: one for each job and
// one for each fire. Only the fires of a job with misfire are made. They are recorded, so that none is made twice
// after a crash in between. After the last job the cursor moves to the end of the window.
func (f *Fires) crossMissedWindow(budget int) (used int) {
	w := f.missed
	for len(w.names) > 0 {
		if used >= budget {
			return used
		}
		name := w.names[0]
		w.names = w.names[1:]
		used++
		j := f.st.Config.Job(name)
		if j == nil || !j.MakesFires() || f.st.Config.Inactive(j) != config.Active {
			continue
		}
		from := f.cursor.Time
		if !f.cursor.Covers(from, name) {
			from = from.Add(-time.Second) // the job's fire at the time of the cursor was not made yet
		}
		if j.Since().After(from) {
			from = j.Since()
		}
		if !w.upTo.After(from) {
			continue
		}
		if first := f.firstAfter(j, from); first.IsZero() || first.After(w.upTo) {
			continue
		}
		why := reason.FiresMissed(from, w.upTo)
		if j.Config().Misfire {
			missed := f.newest(j, from, w.upTo, f.queueLimit())
			why = reason.FiresMadeUp(from, w.upTo, len(missed))
			if len(missed) > 0 {
				f.recordMadeUp(j, missed[0], w.upTo)
			}
			for _, at := range missed {
				f.enqueueFire(j, at.UTC(), executions.Misfired)
			}
			used += len(missed)
		}
		f.st.Config.CountMissed(j, why)
		f.recording.Missed(name, w.upTo, why)
		f.st.Note(step.Note{Kind: step.NoteFiresMissed, Job: name, Why: why})
	}
	f.timetable.Skip(w.upTo)
	f.advance(cursor.Position{Time: w.upTo, Job: lastName})
	f.missed = nil
	return used + 1
}

// fireDueBatch makes fires of the due batch and returns how much of the budget that took: one for each job, at least
// one.
func (f *Fires) fireDueBatch(budget int) int {
	batch := f.due
	n := min(budget, len(batch.names))
	for _, name := range batch.names[:n] {
		j := f.st.Config.Job(name)
		if j == nil || !j.MakesFires() || f.st.Config.Inactive(j) != config.Active || !batch.at.After(j.Since()) ||
			f.cursor.Covers(batch.at, name) {
			continue
		}
		if _, made := f.madeAt(name, batch.at); made {
			continue
		}
		f.st.Numbers.Fires++
		f.enqueueFire(j, batch.at, executions.NormalTrigger)
	}
	f.st.NeedChanged()
	position := cursor.Position{Time: batch.at}
	if n < len(batch.names) {
		position.Job = batch.names[n-1]
		batch.names = batch.names[n:]
	} else {
		position.Job = lastName
		f.due = nil
	}
	f.advance(position)
	return max(n, 1)
}

// enqueueFire applies the queue rule to a fire of a cron (rule F5): the fire becomes a waiting execution or, if the
// job is busy and has no misfire, is dropped. It ignores a fire whose execution exists already.
func (f *Fires) enqueueFire(j *config.Job, at time.Time, source executions.Source) {
	id := executions.ID(j.Name(), at)
	if f.st.Executions.Exists(id) {
		return
	}
	if f.st.Executions.FireMustWait(j.Name()) {
		if !j.Config().Misfire {
			first := f.st.Executions.First(j.Name())
			why := reason.FireFoundBusy(at, first.ID(), string(first.State()))
			f.st.Config.CountDropped(j, 1, why)
			f.recording.Dropped(j.Name(), at, why)
			f.st.Note(step.Note{Kind: step.NoteFireDropped, Job: j.Name(), Why: why})
			return
		}
		source = executions.Misfired
		f.dropOldestFire(j)
	}
	f.st.Executions.Enqueue(executions.NewExecution{ID: id, Job: j.Name(), Fire: at, Source: source})
}

// queueLimit returns how many fires of one job may wait. It is lower when so many executions of all jobs are open that
// they would fill the memory, but at least one.
func (f *Fires) queueLimit() int {
	return min(max(f.st.Opt.MaxOpenExecutions-f.st.Executions.NumOpen(), 1), f.st.Opt.MaxQueuedFires)
}

// dropOldestFire makes room in a job's queue, if it is full, by dropping the oldest waiting fire. Triggers are never
// dropped and do not count.
func (f *Fires) dropOldestFire(j *config.Job) {
	waiting, oldest := 0, -1
	for i, e := range f.st.Executions.Queue(j.Name()) {
		if e.Launched() || e.Source() == executions.Triggered {
			continue
		}
		if waiting++; oldest < 0 {
			oldest = i
		}
	}
	limit := f.queueLimit()
	if waiting < limit {
		return
	}
	e := f.st.Executions.Queue(j.Name())[oldest]
	why := reason.OldestDropped(waiting, e.Fire())
	kill := reason.DroppedFromQueue(f.st.Opt.MaxQueuedFires)
	if limit < f.st.Opt.MaxQueuedFires {
		why = reason.OldestOfAllDropped(f.st.Executions.NumOpen(), e.Fire())
		kill = reason.DroppedOfTooMany(f.st.Opt.MaxOpenExecutions)
	}
	f.st.Config.CountDropped(j, 1, why)
	f.st.Note(step.Note{Kind: step.NoteFireDropped, Job: j.Name(), Execution: e.ID(), Why: why})
	f.st.Executions.Drop(e, kill)
}
