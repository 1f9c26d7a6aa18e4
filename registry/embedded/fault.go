package embedded

import (
	"fmt"
	"runtime/debug"
)

// guarded does work on the file's pages, and makes an error of what bbolt panics at and of what the kernel answers with
// SIGBUS: pages that somebody damages, or cuts off, while the file is in use. faulted says that it ended so; locks of bbolt may
// be held for ever after it.
func guarded(work func() error) (faulted bool, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			faulted, err = true, damaged(fmt.Sprint(p))
		}
	}()
	return false, work()
}

// read reads the pages.
func (r *Registry) read(work func() error) error {
	faulted, err := guarded(work)
	if faulted {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.fault(err)
	}
	return err
}

// fault ends all use of the registry, after pages that can't be read. r.mu is held.
func (r *Registry) fault(err error) {
	r.faulted = true
	if r.broken != nil {
		return
	}
	if lost := r.look(); lost == nil {
		r.fail(err)
	}
}
