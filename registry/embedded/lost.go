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

// ErrFileLost says that the file is no longer what this process writes to: somebody has removed, replaced or cut it.
// It is registry.ErrUnusable, too. Nothing is stored from then on, and nothing is said to be.
var ErrFileLost = fmt.Errorf("%w: its file is lost", registry.ErrUnusable)

// lookEvery is how often it is looked whether the file is still there. Each commit looks as well.
const lookEvery = 2 * time.Second

// watch looks at the file until the registry is closed.
func (r *Registry) watch(every time.Duration) {
	tick := time.NewTicker(every)
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

// look breaks the registry down when its path no longer names the file that it has open, or that file is shorter than
// it was: a kernel goes on writing to a removed file without a word, and all of it is gone with this process. r.mu is
// held.
func (r *Registry) look() error {
	now, err := os.Stat(r.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = r.removed("was removed")
	case err != nil:
		return nil // such as a folder that may not be searched any more: what is open is still written to
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

// removed saves what only this process can still read: nobody but root may look at its files.
func (r *Registry) removed(how string) error {
	if err := r.save(r.path + ".saved"); err != nil {
		return fmt.Errorf("%w: %s %s while this server used it; what it had is there as long as this process runs, and could not be saved (%w): "+
			"as root save it with 'cp /proc/%d/fd/%d %s.saved', stop this server, move %s.saved to %s, and start it again",
			ErrFileLost, r.path, how, err, os.Getpid(), r.held().Fd(), r.path, r.path, r.path)
	}
	return fmt.Errorf("%w: %s %s while this server used it; what it had was saved: stop this server, move %s.saved to %s, and start it again",
		ErrFileLost, r.path, how, r.path, r.path)
}

// save copies the file that is open.
func (r *Registry) save(to string) error {
	target, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, io.NewSectionReader(r.held(), 0, math.MaxInt64))
	return errors.Join(err, target.Sync(), target.Close())
}

// held is the file that bbolt has open.
func (r *Registry) held() *os.File { return r.files[len(r.files)-1] }

// fail ends all use of the registry. r.mu is held.
func (r *Registry) fail(why error) {
	r.broken = why
	if r.current != nil {
		r.current.end(fmt.Errorf("%w: %w", registry.ErrTermEnded, why))
	}
	r.log.Error("the registry can't be used any more: no change is taken", "file", r.path, "err", why)
}

// checkNew refuses to make a new registry where there was a registry: what a killed process leaves beside the file
// says so.
func checkNew(path string) error {
	info, err := os.Stat(path)
	how := "is not there"
	if err == nil && info.Size() == 0 {
		how = "is empty"
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(holderPath(path)); err != nil {
		return nil
	}
	return fmt.Errorf("%w: the file %s, though %s shows that there was one: bring back a copy of it, or remove %s to start with a new, empty one, without any app or job",
		registry.ErrUnusable, how, holderPath(path), holderPath(path))
}
