package container

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A kubelet whose container runtime was killed in the moment in which it started a container does not know of that
// afterwards, and starts the container a second time, whatever its pod's restartPolicy. A file that outlives the pod's
// containers (Pod.Begun) keeps the second one from running the task again (promise 2). It is there before the task's
// process is made, or its request sent, and in a volume on disk, too; a task whose container ended in between counts
// as begun.

// ErrBegun says that another container of this pod has begun the task.
var ErrBegun = errors.New("its container was started a second time, and nothing was run in it: the first one had begun the task already, and what came of that is not known")

// BegunBefore is an ErrBegun that says when, if the marker is there.
func BegunBefore(marker string) error {
	info, err := os.Lstat(marker)
	if err != nil {
		return nil
	}
	return fmt.Errorf("%w; it began at %s", ErrBegun, info.ModTime().UTC().Format(time.RFC3339))
}

// Begin makes the marker. After it the task counts as begun; with an error it has not begun, or not here (ErrBegun).
func (c *Container) Begin() error {
	if c == nil {
		return nil
	}
	marker, err := os.OpenFile(c.begun, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		if before := BegunBefore(c.begun); before != nil {
			return before
		}
		return ErrBegun
	}
	if err == nil {
		if err = errors.Join(marker.Sync(), marker.Close(), syncFolder(filepath.Dir(c.begun))); err != nil {
			_ = os.Remove(c.begun)
		}
	}
	if err != nil {
		return fmt.Errorf("note that the task begins, so that it does not begin twice: %w; see to it that %s has space and can be written to", err, filepath.Dir(c.begun))
	}
	return nil
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
