package container

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// If a kubelet's container runtime is killed while it starts a container, the kubelet does not know that the container
// started. It then starts the container a second time, whatever the pod's restartPolicy. A marker file that outlives
// the pod's containers (Pod.Begun) keeps the second container from running the task again (promise 2). The marker is
// created and synced to disk before the task's process is started or its request is sent. If the container ends after
// the one and before the other, the task counts as begun.

// ErrBegun means that another container of this pod has begun the task already.
var ErrBegun = errors.New("its container was started a second time, and ran nothing: the first start had already begun the task, and its outcome is unknown")

// CheckBegun returns an error if the marker exists: it wraps ErrBegun and says when the task began.
func CheckBegun(marker string) error {
	info, err := os.Lstat(marker)
	if err != nil {
		return nil
	}
	return fmt.Errorf("%w; it began at %s", ErrBegun, info.ModTime().UTC().Format(time.RFC3339))
}

// Begin creates the marker, so that the task counts as begun. If Begin returns an error, the task has not begun, or
// another container has begun it (ErrBegun).
func (c *Container) Begin() error {
	if c == nil {
		return nil
	}
	marker, err := os.OpenFile(c.begun, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		if before := CheckBegun(c.begun); before != nil {
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
		return fmt.Errorf("mark the task as begun: %w; %s must be writable and have free space", err,
			filepath.Dir(c.begun))
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
