package embedded

import (
	"errors"
	"math"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// growth is the step in which space is reserved. Half of it is more than almost any commit takes.
const growth = 8 << 20

// reserveSpace allocates the disk's blocks for the part of the file that is used, and for a step of
// growth behind it, so that commits succeed when a task has filled the disk: bbolt makes the file longer
// without blocks, and a page would get its own at its first write, or not. When the disk is full now, nothing
// fails: the log says so once, and each commit tries again. r.mu is held, or nobody else has r yet.
func (r *Registry) reserveSpace() {
	var used int64
	err := r.db.View(func(tx *bolt.Tx) error {
		used = tx.Size()
		return nil
	})
	if err == nil && used+growth/2 <= r.reserved {
		return
	}
	want := (used/growth + 2) * growth
	if err == nil {
		err = unix.Fallocate(int(r.held().Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, want)
	}
	switch {
	case err == nil:
		r.reserved, r.unreserved = want, false
	case errors.Is(err, unix.EOPNOTSUPP):
		r.reserved = math.MaxInt64 // this file system reserves nothing
	case !r.unreserved:
		r.unreserved = true
		r.log.Warn("no space reserved for the registry: its writes fail when the disk is full; free some", "file",
			r.path, "bytes", want, "err", err)
	}
}
