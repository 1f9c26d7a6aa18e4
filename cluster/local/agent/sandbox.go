package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/steadyclock"
)

// sandboxes manages the folders of executor runs below the work folder:
// slaves/<agent>/frameworks/<framework>/executors/<executor>/runs/<container>. The newest KeepSandboxes folders of
// ended executors are kept for KeepFor.
type sandboxes struct {
	options Options
	root    *os.Root // the work folder
	log     *slog.Logger
	wake    chan struct{}
	// parents guards the folders above those of runs, so that none of them is removed while a run is created in it.
	parents sync.Mutex
}

func openSandboxes(options Options) (*sandboxes, error) {
	root, err := os.OpenRoot(options.WorkDir)
	if err != nil {
		return nil, fmt.Errorf("open the work folder: %w", err)
	}
	return &sandboxes{options: options, root: root, log: options.Logger, wake: make(chan struct{}, 1)}, nil
}

func (s *sandboxes) close() error { return s.root.Close() }

// create creates the folder of a run.
func (s *sandboxes) create(sandbox string) error {
	s.parents.Lock()
	defer s.parents.Unlock()
	err := s.inside(sandbox, func(name string) error { return s.root.MkdirAll(name, 0o711) })
	if err != nil {
		return fmt.Errorf("create a sandbox: %w", err)
	}
	return nil
}

// inside calls f with the name of a folder relative to the opened work folder. It does not resolve the work folder's
// path again, so it has no effect if that folder is replaced.
func (s *sandboxes) inside(folder string, f func(name string) error) error {
	name, err := filepath.Rel(s.options.WorkDir, folder)
	if err != nil {
		return err
	}
	return f(name)
}

// release records that a run has ended. Its sandbox is removed some time later.
func (s *sandboxes) release(sandbox string) {
	// The folder's modification time records the end for later sweeps. The folder may never have been created.
	err := s.inside(sandbox, func(name string) error { return s.root.Chtimes(name, time.Now(), time.Now()) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("end of a sandbox not recorded", "path", sandbox, "error", err)
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run removes old and surplus sandboxes until ctx ends. used returns the sandboxes that are in use.
func (s *sandboxes) run(ctx context.Context, used func() map[string]bool) {
	timer := time.NewTicker(time.Hour)
	defer timer.Stop()
	begin := time.Now()
	var ages steadyclock.Clock
	for {
		now := time.Now()
		if err := s.sweep(ctx, used, ages.Now(now, now.Sub(begin))); err != nil {
			s.log.Warn("old sandboxes not removed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
	}
}

// sweep removes the sandboxes of ended executors, of this and of earlier runs of the agent, except for the newest
// KeepSandboxes that ended less than KeepFor before now.
func (s *sandboxes) sweep(ctx context.Context, used func() map[string]bool, now time.Time) error {
	runs, err := fs.Glob(s.root.FS(), "slaves/*/frameworks/*/executors/*/runs/*")
	if err != nil {
		return err
	}
	// An executor counts as a user before its sandbox is created. A sandbox that was listed above is therefore in use
	// if and only if used still returns it.
	inUse := used()
	type ended struct {
		path string
		at   time.Time
	}
	var all []ended
	for _, run := range runs {
		info, err := s.root.Lstat(run)
		if err == nil && info.IsDir() && !inUse[filepath.Join(s.options.WorkDir, run)] {
			all = append(all, ended{run, info.ModTime()})
		}
	}
	slices.SortStableFunc(all, func(a, b ended) int { return b.at.Compare(a.at) })
	for i, e := range all {
		if ctx.Err() == nil && (i >= s.options.KeepSandboxes || now.Sub(e.at) > s.options.KeepFor) {
			err = errors.Join(err, s.remove(e.path))
		}
	}
	return err
}

// remove removes the folder of a run, and its parent folders that are empty then.
func (s *sandboxes) remove(run string) error {
	if err := s.root.RemoveAll(run); err != nil {
		return err
	}
	s.parents.Lock()
	defer s.parents.Unlock()
	// The last parent folder to be removed is the frameworks folder of the agent.
	for dir := filepath.Dir(run); strings.Count(dir, string(filepath.Separator)) > 1; dir = filepath.Dir(dir) {
		if s.root.Remove(dir) != nil {
			break
		}
	}
	return nil
}
