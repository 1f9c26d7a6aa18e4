package embedded

import (
	"fmt"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// guarded does work on the file's pages, and makes an error of what bbolt panics at and of what the kernel answers
// with SIGBUS: pages that somebody damages, or cuts off, while the file is in use. faulted says that it ended so;
// locks of bbolt may be held for ever after it.
func guarded(work func() error) (faulted bool, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			faulted, err = true, damaged(fmt.Sprint(p))
		}
	}()
	return false, work()
}

// update makes all of the writes in one transaction, or none, and says whether a page could not be read. After that
// nothing is rolled back, as by [bolt.DB.Update]: it would read all pages on a goroutine that nothing guards.
func (r *Registry) update(writes func(*bolt.Tx) error) (faulted bool, err error) {
	return guarded(func() error {
		tx, err := r.db.Begin(true)
		if err != nil {
			return err
		}
		if err := writes(tx); err != nil {
			_ = tx.Rollback() // bbolt's only error here is a transaction that has ended
			return err
		}
		return tx.Commit()
	})
}

// view reads a bucket.
func (r *Registry) view(bucket []byte, read func(*bolt.Bucket) error) error {
	faulted, err := guarded(func() error {
		return r.db.View(func(tx *bolt.Tx) error { return read(tx.Bucket(bucket)) })
	})
	if faulted {
		r.mu.Lock()
		defer r.mu.Unlock()
		_ = r.breakDown(err, faulted)
	}
	return err
}
