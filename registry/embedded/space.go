package embedded

import (
	"errors"
	"math"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// reserveStep is the step in bytes in which space is reserved. Almost any commit requires less than half of it.
const reserveStep = 8 << 20

// reserveSpace allocates disk blocks for the used part of the file and for at least reserveStep bytes behind it, so
// that commits succeed after a task has filled the disk. bbolt itself extends the file without blocks, so the first
// write to a page may fail for lack of a block. If the disk is already full, reserveSpace logs that once, and is
// called again after each commit. The caller holds r.mu, or is the only user of r.
func (r *Registry) reserveSpace() {
	var used int64
	err := r.db.View(func(tx *bolt.Tx) error {
		used = tx.Size()
		return nil
	})
	if err == nil && used+reserveStep/2 <= r.reserved {
		return
	}
	size := (used/reserveStep + 2) * reserveStep
	if err == nil {
		err = unix.Fallocate(int(r.dbFile().Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size)
	}
	switch {
	case err == nil:
		r.reserved, r.reserveWarned = size, false
	case errors.Is(err, unix.EOPNOTSUPP):
		r.reserved = math.MaxInt64 // this file system can't reserve space
	case !r.reserveWarned:
		r.reserveWarned = true
		r.log.Warn("registry space not reserved: writes fail once the disk is full; free some space",
			"file", r.path, "bytes", size, "error", err)
	}
}
