package history

import (
	"context"
	"time"
)

const (
	recountInterval = 5 * time.Second
	deleteInterval  = time.Minute
	// maxMinutes and maxDeleted bound the minutes and the rows that one call processes.
	maxMinutes = 100
	maxDeleted = 1000
)

// maintain counts statistics and deletes old rows while this process leads, until ctx ends. A failed call is repeated
// at its next regular time.
func (r *Recorder) maintain(ctx context.Context) {
	var throttle logThrottle
	report := func(task string, err error) {
		if err == nil || ctx.Err() != nil {
			return
		}
		if _, ok := throttle.due(1); ok {
			r.opt.Logger.Warn("history "+task+" failed, and is tried again", "error", err)
		}
	}
	var deleted time.Time
	for r.awaitLead(ctx) {
		more := false
		if r.usable() {
			report("statistics", r.recount(ctx))
			if time.Since(deleted) >= deleteInterval {
				var err error
				if more, err = r.deleteOld(ctx); !more {
					deleted = time.Now()
				}
				report("deletion of old rows", err)
			}
		}
		if !more {
			pause(ctx, recountInterval)
		}
	}
}

// awaitLead waits until this process leads. It returns false when ctx has ended.
func (r *Recorder) awaitLead(ctx context.Context) bool {
	for ctx.Err() == nil {
		r.mu.Lock()
		leads, changed := r.leads, r.leadChanged
		r.mu.Unlock()
		if leads {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return false
}

func (r *Recorder) isLeading() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leads
}

// usable reports whether the database was migrated and its last call succeeded.
func (r *Recorder) usable() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status.Down == ""
}

// recount counts the ends of runs in all marked minutes, while this process leads.
func (r *Recorder) recount(ctx context.Context) error {
	for r.isLeading() {
		n, err := r.opt.Database.Recount(ctx, maxMinutes)
		if err != nil || n < maxMinutes {
			return err
		}
	}
	return nil
}

// deleteOld deletes old rows in small transactions. After each it pauses for as long as the transaction took, so that
// writers are not blocked. After recountInterval it returns true, so that the caller counts statistics before it
// deletes more.
func (r *Recorder) deleteOld(ctx context.Context) (more bool, err error) {
	before := r.ages.Now(r.opt.wall(), time.Since(r.opened)).AddDate(0, 0, -r.opt.Days)
	for end := time.Now().Add(recountInterval); r.isLeading() && ctx.Err() == nil; {
		begin := time.Now()
		n, err := r.opt.Database.DeleteOld(ctx, before, r.opt.Rows, maxDeleted)
		if err != nil || n < maxDeleted {
			return false, err
		}
		pause(ctx, time.Since(begin))
		if time.Now().After(end) {
			return true, nil
		}
	}
	return false, nil
}
