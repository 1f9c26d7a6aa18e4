package datafolder

import (
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/internal/wholefile"
)

// userOfJobs chooses the user that jobs run as when root starts the server without --run-as, and logs the choice: a
// user of their own if that keeps jobs from this server's secrets, otherwise root. It refuses a data folder that
// other users can move or replace.
func userOfJobs(dir string, log *slog.Logger) (runAs string, err error) {
	as, err := jobsOwnUser(dir)
	if err == nil {
		if err := as.CheckProtected(dir); err != nil {
			return "", fmt.Errorf("open the data folder: %w", err)
		}
	}
	if err != nil {
		log.Warn("job user not chosen: jobs run as root and can read and change everything on this machine, "+
			"this server's secrets too", "reason", err,
			"change", "--run-as USER runs them as another user, --run-as root ends this warning")
		return "root", nil
	}
	log.Info("job user chosen: an unprivileged one, whose ids no one else on this machine has",
		"user", as.IDs(), "change", "--run-as USER runs them as another user, --run-as root as root")
	return as.IDs(), nil
}

// jobsOwnUser finds a user id that no other account has, and tests whether jobs of that user can use their files in
// the data folder.
func jobsOwnUser(dir string) (*isolation.Account, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	as, kept := keptUser(dir)
	if !kept {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(dir)) // Write of a hash never fails
		if as, err = isolation.Unshared(hash.Sum32()); err != nil {
			return nil, err
		}
	}
	if err := as.CheckEntry(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	if err := errors.Join(letJobsPass(dir), as.Try(dir)); err != nil {
		return nil, err
	}
	if kept {
		return as, nil
	}
	return as, keepUser(dir, as)
}

// userFile returns the file in the data folder that records the user chosen for jobs. Later servers must use the same
// user: executors that outlive a killed server keep running as that user, and it owns the files that jobs keep
// elsewhere.
func userFile(dir string) string { return filepath.Join(dir, "jobs-user") }

// keptUser returns the user that an earlier server chose. kept is false if there is none or if its ids have been
// assigned to another account since.
func keptUser(dir string) (as *isolation.Account, kept bool) {
	text, err := os.ReadFile(userFile(dir))
	if err != nil {
		return nil, false
	}
	as, is := isolation.ParseIDs(strings.TrimSpace(string(text)))
	return as, is && as.IsUnshared()
}

func keepUser(dir string, as *isolation.Account) error {
	if err := wholefile.Write(userFile(dir), []byte(as.IDs()+"\n"), 0o600); err != nil {
		return fmt.Errorf("record the user of jobs: %w", err)
	}
	return nil
}

// letJobsPass lets other users pass through the data folder, and through the folders that this process creates from
// now on, whatever umask the server was started with. It grants no permission to read.
func letJobsPass(dir string) error {
	const others = 0o011 // search permission for others
	syscall.Umask(syscall.Umask(0o077) &^ others)
	if err := os.Chmod(dir, 0o711); err != nil {
		return fmt.Errorf("let jobs pass through the data folder: %w; name another with --data-dir", err)
	}
	return nil
}
