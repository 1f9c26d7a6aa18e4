// Package datafolder creates the data folder, which holds all files of a server, and sets its permissions: only the
// owner can read it, but jobs that run as another user can pass through it to their own files.
package datafolder

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// Make creates the data folder for its owner only. It also creates missing parents; those that root creates can be
// passed by all users, because root's jobs run as another user.
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
		return fmt.Errorf("create the data folder: %w; name another with --data-dir", err)
	}
	return nil
}

// Options describe the data folder of a server.
type Options struct {
	Dir string
	// Local says that jobs run on this machine. RunAs is the user that they run as, in the form of --run-as.
	Local  bool
	RunAs  string
	Logger *slog.Logger
}

// Open creates the data folder and returns the user that jobs run as, in the form of --run-as. Only the owner can
// read the secrets in the folder. If jobs run as another user, that user can pass through the folder.
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
	as, err := isolation.AccountFor(o.RunAs, os.Geteuid())
	if err != nil || as == nil {
		return o.RunAs, nil // the executors report what is wrong with the user
	}
	if err := errors.Join(as.CheckProtected(o.Dir), letJobsPass(o.Dir)); err != nil {
		return "", fmt.Errorf("open the data folder: %w", err)
	}
	return o.RunAs, nil
}

// Secrets returns the folder below which fromFile may name files, for jobs of --local.
func Secrets(dataDir string) string {
	// An error means that the working directory is gone; the start then fails elsewhere.
	if whole, err := filepath.Abs(dataDir); err == nil {
		dataDir = whole
	}
	return filepath.Join(dataDir, "secrets")
}

// closeSecrets creates the folder for jobs' secrets and makes it accessible to its owner only, also one that was
// created under a permissive umask. Executors read the secrets for the jobs. If jobs run as other users, they can
// pass through the data folder, so a folder that cannot be closed is an error then; otherwise it is only logged. The
// folder is created even if there is no secret yet, so that executors that start now can see secrets that are added
// later.
func closeSecrets(folder string, others bool, log *slog.Logger) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("create the folder for jobs' secrets: %w", err)
	}
	info, err := os.Stat(folder)
	if err != nil {
		return fmt.Errorf("check who can read jobs' secrets: %w", err)
	}
	mode := info.Mode().Perm()
	if mode&0o077 == 0 {
		return nil
	}
	said := []any{"folder", folder, "mode", fmt.Sprintf("%04o", mode)}
	switch err := os.Chmod(folder, mode&0o700); {
	case err == nil:
		log.Warn("jobs' secrets closed to others: other users, and jobs of other users, could read them", said...)
	case others:
		return fmt.Errorf("close jobs' secrets to others (mode %04o): %w; make it readable for root only where it is created", mode, err)
	default:
		log.Warn("jobs' secrets readable by other users of this machine",
			append(said, "error", err, "change", "chmod 700 it")...)
	}
	return nil
}
