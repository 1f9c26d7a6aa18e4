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

// ResetClock handles a change of the wall clock by a time. It reports a leap. It drops a missed window that now ends in
// the future, because that end would become the cursor, and no fires would be made until then (rule F4).
func (f *Fires) ResetClock(by time.Duration) {
	f.clockChecked = false
	if by > cursor.MinLeap {
		f.leapt = cursor.Span{From: f.st.Wall().Add(-by), To: f.st.Wall()}
		f.noteLeap(f.leapt.From)
	}
	if f.missed != nil && f.missed.upTo.After(f.st.Wall()) {
		f.missed = nil
	}
}

func (f *Fires) noteLeap(before time.Time) {
	f.st.Note(step.Note{Kind: step.NoteClockLeap, Problem: true, Why: reason.ClockLeapt(before, f.st.Wall())})
}

// nextDueBatch selects the next time with fires, or opens a missed window before it.
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

func (f *Fires) openMissedWindow(upTo time.Time) {
	if _, noted := f.Leapt(); noted.IsZero() && upTo.Sub(f.cursor.Time) > cursor.MinLeap {
		f.noteLeap(f.cursor.Time)
	}
	g := &missedWindow{upTo: upTo}
	for name, j := range f.st.Config.AllJobs() {
		if j.MakesFires() && f.st.Config.Inactive(j) == config.Active {
			g.names = append(g.names, name)
		}
	}
	sort.Strings(g.names)
	f.missed = g
}

// crossMissedWindow checks jobs for missed fires and returns how much of the budget that took: one for each job and
// one for each fire. The fires of a job with misfire are recorded, so that none is made twice after a crash in between;
// without misfire no fire is made.
func (f *Fires) crossMissedWindow(budget int) (used int) {
	g := f.missed
	for len(g.names) > 0 {
		if used >= budget {
			return used
		}
		name := g.names[0]
		g.names = g.names[1:]
		used++
		j := f.st.Config.Job(name)
		if j == nil || !j.MakesFires() || f.st.Config.Inactive(j) != config.Active {
			continue
		}
		from := f.cursor.Time
		if !f.cursor.Covers(from, name) {
			from = from.Add(-time.Second) // the cursor is inside this batch
		}
		if j.Since().After(from) {
			from = j.Since()
		}
		if !g.upTo.After(from) {
			continue
		}
		if first := f.firstAfter(j, from); first.IsZero() || first.After(g.upTo) {
			continue
		}
		why := reason.FiresMissed(from, g.upTo)
		if j.Config().Misfire {
			missed := f.newest(j, from, g.upTo, f.queueLimit())
			why = reason.FiresMadeUp(from, g.upTo, len(missed))
			if len(missed) > 0 {
				f.recordMadeUp(j, missed[0], g.upTo)
			}
			for _, at := range missed {
				f.enqueueFire(j, at.UTC(), executions.Misfired)
			}
			used += len(missed)
		}
		f.st.Config.CountMissed(j, why)
		f.recording.Missed(name, g.upTo, why)
		f.st.Note(step.Note{Kind: step.NoteFiresMissed, Job: name, Why: why})
	}
	f.timetable.Skip(g.upTo)
	f.advance(cursor.Position{Time: g.upTo, Job: lastName})
	f.missed = nil
	return used + 1
}

// fireDueBatch makes fires of the due batch and returns how many jobs it checked.
func (f *Fires) fireDueBatch(budget int) int {
	p := f.due
	n := min(budget, len(p.names))
	for _, name := range p.names[:n] {
		j := f.st.Config.Job(name)
		if j == nil || !j.MakesFires() || f.st.Config.Inactive(j) != config.Active || !p.at.After(j.Since()) ||
			f.cursor.Covers(p.at, name) {
			continue
		}
		if _, made := f.madeAt(name, p.at); made {
			continue
		}
		f.st.Numbers.Fires++
		f.enqueueFire(j, p.at, executions.NormalTrigger)
	}
	f.st.NeedChanged()
	m := cursor.Position{Time: p.at}
	if n < len(p.names) {
		m.Job = p.names[n-1]
		p.names = p.names[n:]
	} else {
		m.Job = lastName
		f.due = nil
	}
	f.advance(m)
	return max(n, 1)
}

// enqueueFire applies the queue rule to a fire of a cron (rule F5).
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

// queueLimit returns how many fires of one job may wait. It is lower when so many fires of all jobs wait that their
// number would fill the memory. Each job has room for one.
func (f *Fires) queueLimit() int {
	return min(max(f.st.Opt.MaxOpenExecutions-f.st.Executions.NumOpen(), 1), f.st.Opt.MaxQueuedFires)
}

// dropOldestFire makes room in a full queue by dropping the oldest waiting fire; triggers are never dropped.
func (f *Fires) dropOldestFire(j *config.Job) {
	waiting, oldest := 0, -1
	for i, e := range f.st.Executions.Queue(j.Name()) {
		if e.Launched() {
			continue
		}
		if e.Source() == executions.Triggered {
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
