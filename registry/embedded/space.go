package embedded

import (
	"errors"
	"math"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// reserveStep is the step in bytes in which space is reserved. Half of it exceeds the need of almost any commit.
const reserveStep = 8 << 20

// reserveSpace allocates disk blocks for the used part of the file and for a step of growth behind it, so that commits
// succeed after a task has filled the disk. Without it, bbolt extends the file without blocks, and the first write to
// a page may fail for lack of one. If the disk is full now, nothing fails: the log reports it once, and each commit
// tries again. The caller holds r.mu, or is the only user of r.
func (r *Registry) reserveSpace() {
	var used int64
	err := r.db.View(func(tx *bolt.Tx) error {
		used = tx.Size()
		return nil
	})
	if err == nil && used+reserveStep/2 <= r.reserved {
		return
	}
	want := (used/reserveStep + 2) * reserveStep
	if err == nil {
		err = unix.Fallocate(int(r.dbFile().Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, want)
	}
	switch {
	case err == nil:
		r.reserved, r.reserveWarned = want, false
	case errors.Is(err, unix.EOPNOTSUPP):
		r.reserved = math.MaxInt64 // this file system can't reserve space
	case !r.reserveWarned:
		r.reserveWarned = true
		r.log.Warn("registry space not reserved: writes fail once the disk is full; free some space", "file",
			r.path, "bytes", want, "error", err)
	}
}
