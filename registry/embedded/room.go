package embedded

import (
	"errors"
	"math"
	"os"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// growth is the step in which room is kept; half of it is more than the largest commit takes.
const growth = 8 << 20

// keepRoom sees to it that the disk's blocks are there for what of the file is used, and for a step of
// growth behind it, so that commits go on when a task has filled the disk: bbolt makes the file longer
// without blocks, and a page would get its own with its first write, or not. When there is no room now nothing
// fails: it is said once, and tried again with each commit. r.mu is held, or nobody else has r yet.
func (r *Registry) keepRoom() {
	var used int64
	err := r.db.View(func(tx *bolt.Tx) error {
		used = tx.Size()
		return nil
	})
	if err == nil && used+growth/2 <= r.room {
		return
	}
	want := (used/growth + 2) * growth
	if err == nil {
		err = allocate(r.path, want)
	}
	switch {
	case err == nil:
		r.room, r.roomless = want, false
	case errors.Is(err, unix.EOPNOTSUPP):
		r.room = math.MaxInt64 // this file system keeps no room for anybody
	case !r.roomless:
		r.roomless = true
		r.log.Warn("no room can be kept for the registry: if the disk gets full, its writes fail; free some", "file", r.path, "bytes", want, "err", err)
	}
}

// allocate gives a file its blocks up to a length, which it need not have.
func allocate(path string, length int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, length)
}
