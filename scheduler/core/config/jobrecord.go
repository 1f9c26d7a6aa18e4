package config

import (
	"encoding/json"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// CountDropped counts n fires of a job that were dropped now because they found it busy (rule F5), and keeps the
// reason.
func (k *Set) CountDropped(j *Job, n int64, why reason.Reason) {
	k.shared.Numbers.FiresDropped += n
	j.stored.Fires.Dropped += n
	j.stored.Fires.LastDropped, j.stored.Fires.DroppedWhy = k.shared.Wall(), why
	k.fireCountsChanged(j)
}

// CountMissed counts one missed window of a job, a period whose fires were not made in time (rule F3), and keeps the
// reason.
func (k *Set) CountMissed(j *Job, why reason.Reason) {
	k.shared.Numbers.FiresMissed++
	j.stored.Fires.Missed++
	j.stored.Fires.LastMissed, j.stored.Fires.MissedWhy = k.shared.Wall(), why
	k.fireCountsChanged(j)
}

// fireCountsChanged marks a job's record to be written, unless its counts were written less than fireCountsInterval
// ago.
func (k *Set) fireCountsChanged(j *Job) {
	k.shared.JobChanged(j.name)
	if j.isStored && k.shared.Now().Sub(j.countsWritten) >= fireCountsInterval {
		j.countsWritten = k.shared.Now()
		k.markChanged(j)
	}
}

// SetFiring adds a job to those that fire by their schedule (see BySchedule), or removes it.
func (k *Set) SetFiring(j *Job, fires bool) {
	if fires && j.schedule != nil {
		k.schedules.set(j)
	} else {
		k.schedules.remove(j)
	}
}

// UpdateRecord updates a job's record if its schedule or state has changed. Fires are made from now on (rule F2), but
// not from an earlier time than before: the clock may have been ahead, and then the fires up to that time were made.
// Disabling a job or shutting it down ends its pause, so that the job is not paused when it is enabled (rule F6). The
// job must have a document.
func (k *Set) UpdateRecord(j *Job, inactive bool) {
	want := Record{Schedule: j.cfg.Cron + " " + j.cfg.TimeZone, Inactive: inactive,
		Paused: j.stored.Paused && !j.mark.Disables()}
	if j.IsDaemon() {
		want.Schedule += " daemon" // while the job is a daemon, the core makes none of its fires
	}
	if j.isStored && j.stored.Schedule == want.Schedule && j.stored.Inactive == want.Inactive &&
		j.stored.Paused == want.Paused {
		return
	}
	if k.shared.Wall().After(j.since) {
		j.since = k.shared.Wall()
	}
	want.Since, want.Fires = j.since, j.stored.Fires
	j.stored, j.isStored = want, true
	k.markChanged(j)
}

// ForgetRecord removes the stored record of a deregistered job with the next commit.
func (k *Set) ForgetRecord(j *Job) {
	if j.isStored {
		k.markChanged(j)
		j.isStored, j.stored, j.since = false, Record{}, time.Time{}
	}
}

// RestoreRecord adds the stored record of a job while a term is loaded. It fails if value cannot be decoded.
func (k *Set) RestoreRecord(name string, value []byte) error {
	var r Record
	if err := json.Unmarshal(value, &r); err != nil {
		return err
	}
	j := k.JobOrRemoved(name)
	j.stored, j.isStored, j.since = r, true, r.Since
	return nil
}

// ForgetUnused removes a job that has neither a record nor a document nor a fault, unless executions of it are open
// (busy). It returns whether it removed the job.
func (k *Set) ForgetUnused(j *Job, busy bool) (removed bool) {
	unused := !j.isStored && j.cfg == nil && !busy && !k.IsFaulty(j)
	if unused {
		delete(k.jobs, j.name)
	}
	return unused
}

// SetPaused pauses a job, or ends its pause (rule F10). The record is stored even while the job's app cannot be used.
func (k *Set) SetPaused(j *Job, paused bool) {
	j.stored.Paused, j.isStored = paused, true
	k.markChanged(j)
}

// SetSince records that a job's fires are made after a time of the wall clock only, because the clock is back from a
// leap (rule F4).
func (k *Set) SetSince(j *Job, at time.Time) {
	j.since = at
	k.markChanged(j)
}

// SetNextDue remembers when the next job of an app fires. ReadCron forgets that time.
func (k *Set) SetNextDue(a *App, at time.Time) { a.nextDue = at }
