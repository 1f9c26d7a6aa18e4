// Package datafolder creates the data folder, which contains all files of a server, and sets its permissions: only the
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

// Make creates the data folder with permissions only for its owner. It also creates missing parents. If this process
// is root's, all users can pass through these parents, because the jobs of root's server run as another user.
func Make(dir string) error {
	parentMode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		parentMode = 0o711
	}
	err := os.MkdirAll(filepath.Dir(dir), parentMode)
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
	// Local is set if jobs run on this machine. RunAs is the user of the jobs, in the form of --run-as.
	Local  bool
	RunAs  string
	Logger *slog.Logger
}

// Open creates the data folder, and returns the user of the jobs, in the form of --run-as. If jobs run on this machine,
// Open also creates the folder for their secrets, which only the owner can read, and lets jobs of another user pass
// through the data folder. If root runs the server and RunAs is empty, Open chooses the user.
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
	account, err := isolation.AccountFor(o.RunAs, os.Geteuid())
	if err != nil || account == nil {
		return o.RunAs, nil // the executors report what is wrong with the user
	}
	if err := errors.Join(account.CheckProtected(o.Dir), letJobsPass(o.Dir)); err != nil {
		return "", fmt.Errorf("open the data folder: %w", err)
	}
	return o.RunAs, nil
}

// Secrets returns the absolute path of the folder for jobs' secrets: with --local, fromFile may name files below it.
func Secrets(dataDir string) string {
	// An error means that the working directory was removed. The start then fails elsewhere.
	if absolute, err := filepath.Abs(dataDir); err == nil {
		dataDir = absolute
	}
	return filepath.Join(dataDir, "secrets")
}

// closeSecrets creates the folder for jobs' secrets, and removes the permissions of other users from an existing
// folder. Executors read the secrets for the jobs. The folder is created even if there is no secret yet, so that
// executors which start now can read secrets that are added later.
//
// If the permissions cannot be removed, it returns an error if otherUser is set: jobs then run as another user, who
// can pass through the data folder. Without otherUser it only logs a warning.
func closeSecrets(folder string, otherUser bool, log *slog.Logger) error {
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
	attrs := []any{"folder", folder, "mode", fmt.Sprintf("%04o", mode)}
	switch err := os.Chmod(folder, mode&0o700); {
	case err == nil:
		log.Warn("jobs' secrets closed to others: other users, and jobs of other users, could read them", attrs...)
	case otherUser:
		return fmt.Errorf("close jobs' secrets to others (mode %04o): %w; make it readable for root only where it is created",
			mode, err)
	default:
		log.Warn("jobs' secrets readable by other users of this machine",
			append(attrs, "error", err, "change", "chmod 700 it")...)
	}
	return nil
}
