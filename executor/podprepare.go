package executor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// The files that Prepare leaves in the pod's folder for the container that runs the task: a copy of this program, the
// package, and the package's checksum. The checksum is written last, so it marks the package as complete.
const (
	preparedProgram = "executor"
	preparedPackage = "package"
	preparedSum     = "package.sha256"
)

// Prepare fetches and unpacks the task's package for another container of the pod, which has the job's own image,
// and copies this program for it. That container may run as another user, so all users can read the files.
func (p Pod) Prepare(ctx context.Context, log *slog.Logger) Ending {
	copied := make(chan error, 1)
	go func() { copied <- copyProgram(filepath.Join(p.Folder, preparedProgram)) }()
	sum, err := p.fetch(ctx, log)
	if err = errors.Join(err, <-copied); err != nil {
		ending := NotStarted(err)
		ending.Killed = context.Cause(ctx) != nil
		return ending
	}
	return Ending{Finished: true, Status: wire.Status{PackageSHA256: sum}}
}

// fetch fetches the package into its place in the pod's folder, unless it is already there, and returns the package's
// checksum. Without a package it does nothing.
func (p Pod) fetch(ctx context.Context, log *slog.Logger) (sum string, err error) {
	if p.Task.Package.URL == "" {
		return "", nil
	}
	// An earlier start of this container may have left a part of the package, or the whole package, which a task may
	// already use.
	switch ready, err := p.prepared(); {
	case err != nil:
		return "", err
	case ready != nil:
		return ready.SHA256, nil
	}
	work := filepath.Join(p.Folder, "fetch")
	if err := errors.Join(pack.RemoveTree(work),
		pack.RemoveTree(filepath.Join(p.Folder, preparedPackage))); err != nil {
		return "", fmt.Errorf("remove the files of an earlier start of this container: %w", err)
	}
	store, err := pack.Open(privateCache(work), filepath.Join(work, "packages"), p.Package, log)
	if err != nil {
		return "", fmt.Errorf("%w; mount a volume at %s that the container's user can write to", err, p.Folder)
	}
	defer store.Close()
	source := pack.SourceOf(p.Task.Package, p.Task.Command)
	source.Cache = false
	fetched, err := store.Get(ctx, source)
	if err != nil {
		return "", err
	}
	if err := os.Rename(fetched.Dir, filepath.Join(p.Folder, preparedPackage)); err != nil {
		return "", fmt.Errorf("leave the package for the next container: %w", err)
	}
	fetched.Release()
	if err := os.WriteFile(filepath.Join(p.Folder, preparedSum), []byte(fetched.SHA256), 0o644); err != nil {
		return "", fmt.Errorf("leave the package for the next container: %w", err)
	}
	return fetched.SHA256, nil
}

// prepared returns the package that Prepare has fetched, or nil if Prepare did not run or was interrupted.
func (p Pod) prepared() (*pack.Package, error) {
	sum, err := os.ReadFile(filepath.Join(p.Folder, preparedSum))
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(sum) < hex.EncodedLen(sha256.Size):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("find the package that was fetched: %w", err)
	}
	return &pack.Package{Dir: filepath.Join(p.Folder, preparedPackage), SHA256: strings.TrimSpace(string(sum)),
		Release: func() {}}, nil
}

// copyProgram copies this program to a path. The copy appears there complete or not at all.
func copyProgram(path string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("leave the executor for the next container: %w", err)
		}
	}()
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer program.Close()
	file, err := os.Create(path + ".part") // a second start of this container uses the same name
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = io.Copy(file, program)
	if err = errors.Join(err, file.Chmod(0o755), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
