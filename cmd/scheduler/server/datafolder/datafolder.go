// Package datafolder makes the folder of all that a server keeps, and lets those in who have to be: its owner only,
// but for jobs of another user, which pass through.
package datafolder

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// Make makes the data folder, for its owner only. Missing folders above it are made too; root's let others
// pass, because root's jobs run as another user.
func Make(dir string) error {
	above := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		above = 0o711
	}
	err := os.MkdirAll(filepath.Dir(dir), above)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("make the data folder: %w; name another with --data-dir", err)
	}
	return nil
}

// Options say whose data folder it is.
type Options struct {
	Dir string
	// Local says that jobs run on this machine, and RunAs as whom, as --run-as has it.
	Local  bool
	RunAs  string
	Logger *slog.Logger
}

// Open makes the data folder and returns who jobs run as, as --run-as has it. What is secret in the folder
// can be read by its owner only; others may pass through it, if jobs run as another user.
func Open(o Options) (runAs string, err error) {
	if err := Make(o.Dir); err != nil {
		return "", err
	}
	if !o.Local {
		return o.RunAs, nil
	}
	jobsAreRoot := o.RunAs == "root" || o.RunAs == "0"
	if err := closeSecrets(Secrets(o.Dir), os.Geteuid() == 0 && !jobsAreRoot, o.Logger); err != nil {
		return "", err
	}
	if o.RunAs == "" && os.Geteuid() == 0 {
		return userOfJobs(o.Dir, o.Logger)
	}
	as, err := isolation.Needed(o.RunAs, os.Geteuid())
	if err != nil || as == nil {
		return o.RunAs, nil // the executors say what is wrong
	}
	if err := errors.Join(as.LeavesAlone(o.Dir), letJobsPass(o.Dir)); err != nil {
		return "", fmt.Errorf("open the data folder: %w", err)
	}
	return o.RunAs, nil
}

// Secrets is where jobs of this machine's cluster may name files in by fromFile.
func Secrets(dataDir string) string {
	if whole, err := filepath.Abs(dataDir); err == nil { // an error: this folder is gone, and the start fails elsewhere
		dataDir = whole
	}
	return filepath.Join(dataDir, "secrets")
}

// closeSecrets makes the folder for jobs' secrets, which executors read for them, and closes one to others that
// somebody has made under a usual umask: jobs of another user, if there are others, pass through the data folder.
// Executors that run already see what is put into it later, if it is there.
func closeSecrets(folder string, others bool, log *slog.Logger) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make the folder for jobs' secrets: %w", err)
	}
	info, err := os.Stat(folder)
	if err != nil {
		return fmt.Errorf("see who can read jobs' secrets: %w", err)
	}
	mode := info.Mode().Perm()
	if mode&0o077 == 0 {
		return nil
	}
	said := []any{"folder", folder, "mode", fmt.Sprintf("%04o", mode)}
	switch err := os.Chmod(folder, mode&0o700); {
	case err == nil:
		log.Warn("jobs' secrets closed to others: they could be read, by jobs of another user, too", said...)
	case others:
		return fmt.Errorf("close jobs' secrets to others (mode %04o): %w; make it readable for root only, "+
			"where it is made", mode, err)
	default:
		log.Warn("jobs' secrets can be read by others of this machine",
			append(said, "error", err, "change", "chmod 700 it")...)
	}
	return nil
}
