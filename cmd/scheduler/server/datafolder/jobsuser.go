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

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/wholefile"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// userOfJobs chooses the user that jobs run as where root has named none, and logs the choice: a user of their own, if
// that keeps them from this server's secrets, or else root. A folder that everybody can move is none for a server of
// root's.
func userOfJobs(dir string, log *slog.Logger) (runAs string, err error) {
	as, err := jobsOwnUser(dir)
	if err == nil {
		if err := as.LeavesAlone(dir); err != nil {
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

// jobsOwnUser finds a user that no one else is and tries whether jobs can run as that user with their files in the
// data folder.
func jobsOwnUser(dir string) (*isolation.Account, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	as, kept := keptUser(dir)
	if !kept {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(dir)) // it never fails
		if as, err = isolation.Unshared(hash.Sum32()); err != nil {
			return nil, err
		}
	}
	if err := as.Reaches(filepath.Dir(dir)); err != nil {
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

// userFile has, in the data folder, the user that was chosen for jobs. The next server takes the same one: executors
// that outlive a killed server go on as that user, and what jobs keep elsewhere belongs to it.
func userFile(dir string) string { return filepath.Join(dir, "jobs-user") }

// keptUser is the user that an earlier server has chosen, unless its ids were assigned to another user since.
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
		return fmt.Errorf("keep the user of jobs: %w", err)
	}
	return nil
}

// letJobsPass opens the way through the data folder to what jobs need in it: the folder itself, and those that are
// made in it from now on, whatever the umask of who started this server. Nothing can be read there that could not be
// read without it.
func letJobsPass(dir string) error {
	const others = 0o011 // may search
	syscall.Umask(syscall.Umask(0o077) &^ others)
	if err := os.Chmod(dir, 0o711); err != nil {
		return fmt.Errorf("let jobs pass through the data folder: %w; name another with --data-dir", err)
	}
	return nil
}
