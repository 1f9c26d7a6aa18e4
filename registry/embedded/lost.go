package embedded

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
)

// ErrFileLost is the error of every write after another program has removed, replaced or truncated the file. It is
// also registry.ErrUnusable.
var ErrFileLost = fmt.Errorf("%w: its file is lost", registry.ErrUnusable)

// checkInterval is the interval at which the file is checked. Each commit checks it too.
const checkInterval = 2 * time.Second

// watch checks the file periodically until the registry is closed.
func (r *Registry) watch(interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.closing:
			return
		}
		r.mu.Lock()
		_ = r.usable()
		r.mu.Unlock()
	}
}

// checkFile ends all use of the registry if its path is no longer that of the open file, or if the file has become
// shorter. Writes to a removed file succeed, but they are lost when this process ends. The caller holds r.mu.
func (r *Registry) checkFile() error {
	now, err := os.Stat(r.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = r.removed("was removed")
	case err != nil:
		return nil // for example if the folder can't be searched: writes to the open file still work
	case !os.SameFile(now, r.opened):
		err = r.removed("was replaced by another file")
	case now.Size() < r.size:
		err = fmt.Errorf("%w: %s was cut from %d to %d bytes while this server used it; stop this server, bring back a copy of the file, and start it again",
			ErrFileLost, r.path, r.size, now.Size())
	default:
		r.size = now.Size()
		return nil
	}
	r.fail(err)
	return err
}

// removed saves the content of the removed file, which no path names any more, and returns the error for it. event
// says what happened to the file.
func (r *Registry) removed(event string) error {
	if err := r.save(r.path + ".saved"); err != nil {
		return fmt.Errorf("%w: %s %s while this server used it; its content exists only while this process runs, and could not be saved (%w): "+
			"save it as root with 'cp /proc/%d/fd/%d %s.saved', stop this server, move %s.saved to %s, and start it again",
			ErrFileLost, r.path, event, err, os.Getpid(), r.dbFile().Fd(), r.path, r.path, r.path)
	}
	return fmt.Errorf("%w: %s %s while this server used it; its content was saved: stop this server, move %s.saved to %s, and start it again",
		ErrFileLost, r.path, event, r.path, r.path)
}

// save copies the content of the open file to another file.
func (r *Registry) save(path string) error {
	target, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, io.NewSectionReader(r.dbFile(), 0, math.MaxInt64))
	return errors.Join(err, target.Sync(), target.Close())
}

// dbFile returns the file that bbolt has open.
func (r *Registry) dbFile() *os.File { return r.files[len(r.files)-1] }

// fail ends all use of the registry for a reason. The caller holds r.mu.
func (r *Registry) fail(reason error) {
	r.broken = reason
	if r.current != nil {
		r.current.end(fmt.Errorf("%w: %w", registry.ErrTermEnded, reason))
	}
	r.log.Error("registry failed; writes are refused", "file", r.path, "error", reason)
}

// checkNew returns an error if Open would create a new registry in place of a lost one: the registry's file does not
// exist or is empty, but there is a holder file.
func checkNew(path string) error {
	info, err := os.Stat(path)
	state := "is not there"
	if err == nil && info.Size() == 0 {
		state = "is empty"
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(holderPath(path)); err != nil {
		return nil
	}
	return fmt.Errorf("%w: the file %s, though %s shows that there was one: bring back a copy of it, or remove %s to start with an empty registry, without apps and jobs",
		registry.ErrUnusable, state, holderPath(path), holderPath(path))
}
