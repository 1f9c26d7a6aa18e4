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
	agent   string
	log     *slog.Logger
	wake    chan struct{}

	// making guards the folders above a run: one is not removed while another run is made in it.
	making sync.Mutex

	mu    sync.Mutex
	ended []endedSandbox // oldest first
}

type endedSandbox struct {
	path string // relative to the work folder
	at   time.Time
}

func openSandboxes(options Options, agent string) (*sandboxes, error) {
	root, err := os.OpenRoot(options.WorkDir)
	if err != nil {
		return nil, fmt.Errorf("open the work folder: %w", err)
	}
	return &sandboxes{options: options, root: root, agent: agent, log: options.Logger, wake: make(chan struct{}, 1)}, nil
}

func (s *sandboxes) close() error { return s.root.Close() }

// create makes a run's folder and points "latest" to it.
func (s *sandboxes) create(sandbox string) error {
	s.making.Lock()
	defer s.making.Unlock()
	if err := os.MkdirAll(sandbox, 0o750); err != nil {
		return fmt.Errorf("make a sandbox: %w", err)
	}
	// There for readers from the first moment.
	for _, name := range []string{"stdout", "stderr"} {
		file, err := output(filepath.Join(sandbox, name))
		if err == nil {
			err = file.Close()
		}
		if err != nil {
			return fmt.Errorf("make a sandbox: %w", err)
		}
	}
	latest := filepath.Join(filepath.Dir(sandbox), "latest")
	if err := os.Symlink(filepath.Base(sandbox), latest+".new"); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("point to the latest sandbox: %w", err)
	}
	if err := os.Rename(latest+".new", latest); err != nil {
		return fmt.Errorf("point to the latest sandbox: %w", err)
	}
	return nil
}

// retired notes that a run is over; its sandbox is removed some time later.
func (s *sandboxes) retired(sandbox string, now time.Time) {
	path, err := filepath.Rel(s.options.WorkDir, sandbox)
	if err != nil {
		return
	}
	// For the next start, which knows no other time of its end. It may never have been made.
	if err := s.root.Chtimes(path, now, now); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("end of a sandbox cannot be noted", "path", path, "error", err)
	}
	s.mu.Lock()
	s.ended = append(s.ended, endedSandbox{path, now})
	s.mu.Unlock()
	s.poke()
}

func (s *sandboxes) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// adopt takes over the sandboxes of earlier runs of the agent that are not in use.
func (s *sandboxes) adopt(used map[string]bool) {
	runs, err := fs.Glob(s.root.FS(), "slaves/*/frameworks/*/executors/*/runs/*")
	if err != nil {
		s.log.Error("old sandboxes cannot be listed", "error", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, run := range runs {
		path := filepath.FromSlash(run)
		info, err := s.root.Lstat(path)
		if err != nil || !info.IsDir() || used[filepath.Join(s.options.WorkDir, path)] {
			continue
		}
		if !slices.ContainsFunc(s.ended, func(e endedSandbox) bool { return e.path == path }) {
			s.ended = append(s.ended, endedSandbox{path, info.ModTime()})
		}
	}
	slices.SortStableFunc(s.ended, func(a, b endedSandbox) int { return a.at.Compare(b.at) })
	s.poke()
}

// run removes what is too old or too much, until ctx ends.
func (s *sandboxes) run(ctx context.Context) {
	timer := time.NewTicker(time.Hour)
	defer timer.Stop()
	for {
		for _, path := range s.due(time.Now()) {
			if ctx.Err() != nil {
				return
			}
			if err := s.remove(path); err != nil {
				s.log.Warn("old sandbox cannot be removed", "path", path, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
	}
}

// due takes out what is to be removed.
func (s *sandboxes) due(now time.Time) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := max(0, len(s.ended)-s.options.KeepSandboxes)
	for n < len(s.ended) && now.Sub(s.ended[n].at) > s.options.KeepFor {
		n++
	}
	paths := make([]string, n)
	for i, e := range s.ended[:n] {
		paths[i] = e.path
	}
	s.ended = slices.Delete(s.ended, 0, n)
	return paths
}

func (s *sandboxes) remove(run string) error {
	if err := s.root.RemoveAll(run); err != nil {
		return err
	}
	s.making.Lock()
	defer s.making.Unlock()
	latest := filepath.Join(filepath.Dir(run), "latest")
	if target, err := s.root.Readlink(latest); err == nil && filepath.Base(target) == filepath.Base(run) {
		if err := s.root.Remove(latest); err != nil {
			return err
		}
	}
	// The folders above it, up to the agent's, as far as they are empty.
	for dir := filepath.Dir(run); strings.Count(dir, string(filepath.Separator)) > 1; dir = filepath.Dir(dir) {
		if s.root.Remove(dir) != nil {
			break
		}
	}
	return nil
}
