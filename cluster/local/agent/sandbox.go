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
)

// sandboxes are the folders of executor runs below the work folder:
// slaves/<agent>/frameworks/<framework>/executors/<executor>/runs/<container>. Those of
// executors that ended are kept for a while, the newest KeepSandboxes of them.
type sandboxes struct {
	options Options
	root    *os.Root // the work folder
	log     *slog.Logger
	wake    chan struct{}
	// making guards the folders above a run: one is not removed while another run is made in it.
	making sync.Mutex
}

func openSandboxes(options Options) (*sandboxes, error) {
	root, err := os.OpenRoot(options.WorkDir)
	if err != nil {
		return nil, fmt.Errorf("open the work folder: %w", err)
	}
	return &sandboxes{options: options, root: root, log: options.Logger, wake: make(chan struct{}, 1)}, nil
}

func (s *sandboxes) close() error { return s.root.Close() }

// create makes a run's folder.
func (s *sandboxes) create(sandbox string) error {
	s.making.Lock()
	defer s.making.Unlock()
	err := s.inside(sandbox, func(name string) error { return s.root.MkdirAll(name, 0o711) })
	if err != nil {
		return fmt.Errorf("make a sandbox: %w", err)
	}
	return nil
}

// inside calls f with the name that a folder has in the opened work folder: what else has the work folder's path by
// now does not count.
func (s *sandboxes) inside(folder string, f func(name string) error) error {
	name, err := filepath.Rel(s.options.WorkDir, folder)
	if err != nil {
		return err
	}
	return f(name)
}

// retired notes that a run has ended; its sandbox is removed some time later.
func (s *sandboxes) retired(sandbox string) {
	// The folder's time is that of its end, for later sweeps. It may never have been made.
	err := s.inside(sandbox, func(name string) error { return s.root.Chtimes(name, time.Now(), time.Now()) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("end of a sandbox not noted", "path", sandbox, "error", err)
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run removes what is too old or too much, until ctx ends. used are the sandboxes that are in use.
func (s *sandboxes) run(ctx context.Context, used func() map[string]bool) {
	timer := time.NewTicker(time.Hour)
	defer timer.Stop()
	for {
		if err := s.sweep(ctx, used); err != nil {
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

// sweep removes the sandboxes of executors that have ended, of this and of earlier runs of the agent, but the newest
// ones.
func (s *sandboxes) sweep(ctx context.Context, used func() map[string]bool) error {
	runs, err := fs.Glob(s.root.FS(), "slaves/*/frameworks/*/executors/*/runs/*")
	if err != nil {
		return err
	}
	inUse := used() // an executor is known before its sandbox is made
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
		if ctx.Err() == nil && (i >= s.options.KeepSandboxes || time.Since(e.at) > s.options.KeepFor) {
			err = errors.Join(err, s.remove(e.path))
		}
	}
	return err
}

func (s *sandboxes) remove(run string) error {
	if err := s.root.RemoveAll(run); err != nil {
		return err
	}
	s.making.Lock()
	defer s.making.Unlock()
	// The folders above it, up to the agent's, as far as they are empty.
	for dir := filepath.Dir(run); strings.Count(dir, string(filepath.Separator)) > 1; dir = filepath.Dir(dir) {
		if s.root.Remove(dir) != nil {
			break
		}
	}
	return nil
}
