package embedded

import (
	"fmt"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// guarded calls work, which reads or writes the file's pages. If another program damages or truncates the file while
// it is in use, bbolt panics or the process gets a SIGBUS. guarded converts both into an error and returns faulted.
// bbolt may then hold its locks forever.
func guarded(work func() error) (faulted bool, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			faulted, err = true, damaged(fmt.Sprint(p))
		}
	}()
	return false, work()
}

// update makes all writes in one transaction, or none. It returns faulted if a page could not be read. After that it
// does not roll back as [bolt.DB.Update] would, because the rollback reads all pages on a goroutine that is not
// guarded.
func (r *Registry) update(writes func(*bolt.Tx) error) (faulted bool, err error) {
	return guarded(func() error {
		tx, err := r.db.Begin(true)
		if err != nil {
			return err
		}
		if err := writes(tx); err != nil {
			_ = tx.Rollback() // fails only if the transaction has ended
			return err
		}
		return tx.Commit()
	})
}

// view calls read with a bucket. If a page cannot be read, it ends all use of the registry.
func (r *Registry) view(bucket []byte, read func(*bolt.Bucket) error) error {
	faulted, err := guarded(func() error {
		return r.db.View(func(tx *bolt.Tx) error { return read(tx.Bucket(bucket)) })
	})
	if faulted {
		r.mu.Lock()
		defer r.mu.Unlock()
		_ = r.failWith(err, faulted)
	}
	return err
}
