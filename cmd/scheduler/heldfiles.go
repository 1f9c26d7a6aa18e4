package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// heldFile is a file with secrets that a flag names. It is held open, so that no other one can be taken for it.
type heldFile struct {
	named string
	// real is its name without links when the server started, empty if there was none.
	real string
	is   isolation.Identity
	file *os.File
}

// heldFiles are all of them.
type heldFiles []heldFile

// holdFiles opens files without reading them.
func holdFiles(named []string) (held heldFiles, err error) {
	defer func() {
		if err != nil {
			held.close()
		}
	}()
	for _, path := range named {
		real, err := filepath.EvalSymlinks(path)
		if errors.Is(err, fs.ErrNotExist) {
			held = append(held, heldFile{named: path})
			continue
		}
		var fd int
		if err == nil {
			fd, err = unix.Open(real, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		}
		if err != nil {
			return held, fmt.Errorf("hold %s, which is to be hidden from jobs: %w", path, err)
		}
		file := os.NewFile(uintptr(fd), real)
		is, err := isolation.IdentityOf(file)
		held = append(held, heldFile{path, real, is, file})
		if err != nil {
			return held, err
		}
	}
	return held, nil
}

func (h heldFiles) close() {
	for _, f := range h {
		_ = f.file.Close() // nothing was written; without a file it is an error that says so
	}
}

// hiddenWith adds the files to what is hidden. A file must be where it was at the start. One that has no name any
// more, since another one was renamed to it, can be seen by nobody: then it is the new one that is hidden, and so is
// what a link leads to now, such as the key of a certificate that was renewed.
func (h heldFiles) hiddenWith(p isolation.Places) isolation.Places {
	p.Files, p.FilesAre = slices.Clone(p.Files), map[string]isolation.Identity{}
	for _, f := range h {
		if p.Files = append(p.Files, f.named); f.real == "" {
			continue
		}
		if f.real != f.named {
			p.Files = append(p.Files, f.real)
		}
		var stat unix.Stat_t
		if err := unix.Fstat(int(f.file.Fd()), &stat); err != nil || stat.Nlink > 0 {
			p.FilesAre[f.real] = f.is
		}
	}
	return p
}

// programs are the files that the next start executes, as far as this one knows: this program, by the name that it was
// started by, too, the executors, and the command line beside it. Links are not resolved.
func (c *config) programs() []string {
	var files []string
	add := func(path string) {
		if _, err := os.Stat(path); err == nil && !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	self, err := os.Executable()
	if err == nil {
		add(self)
		add(filepath.Join(filepath.Dir(self), "elasticjob"))
		if started, err := exec.LookPath(os.Args[0]); err == nil && sameFile(started, self) {
			if started, err = filepath.Abs(started); err == nil {
				add(started)
			}
		}
	}
	if dir, err := executorFolder(c.executorDir); err == nil {
		add(filepath.Join(dir, anyExecutor))
		add(filepath.Join(dir, ownExecutor))
	}
	return files
}

func sameFile(one, other string) bool {
	a, err := os.Stat(one)
	b, err2 := os.Stat(other)
	return errors.Join(err, err2) == nil && os.SameFile(a, b)
}

// guardNames sees to it that no job decides what the next start reads and executes: as another user than root's server
// it must not be able to replace the files that flags name, nor the programs. Where jobs are this server's own user,
// files are kept in their place where jobs see them; links can't be, and so are warned of. uid is this server's user.
func (c *config) guardNames(uid int, log *slog.Logger) error {
	if !c.local {
		return nil
	}
	as, err := isolation.Needed(c.runAs, uid)
	if err != nil {
		return nil // the executors say what is wrong
	}
	names := append(c.secretFiles(), c.programs()...)
	if as != nil {
		if dir, err := executorFolder(c.executorDir); err == nil {
			names = append(names, dir) // where a program could be added
		}
		var errs []error
		for _, name := range names {
			errs = append(errs, as.LeavesAlone(name))
		}
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("keep what the next start reads and executes from jobs: %w", err)
		}
		return nil
	}
	if uid == 0 {
		return nil // jobs are root
	}
	for _, name := range names {
		err := eachLink(name, func(link string) {
			log.Warn("file reached by a link that jobs can replace: "+
				"the next start would then take another file for it",
				"file", name, "link", link, "change", "name the file that it leads to")
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("find links that jobs can replace: %w", err)
		}
	}
	return c.guardExecutorName(log)
}

// guardExecutorName warns where a job could add an executor that counts before the one that is there.
func (c *config) guardExecutorName(log *slog.Logger) error {
	dir, err := executorFolder(c.executorDir)
	if err != nil {
		return nil // there is none, and the start says so
	}
	if _, err := os.Stat(filepath.Join(dir, anyExecutor)); err == nil {
		return nil
	}
	steps, err := (*isolation.Account)(nil).Steps(filepath.Join(dir, ownExecutor))
	if err == nil && steps[len(steps)-1].Movable {
		log.Warn("jobs can add an executor: the next start would then run that",
			"folder", dir, "change", "rename "+ownExecutor+" to "+anyExecutor)
	}
	return nil
}
