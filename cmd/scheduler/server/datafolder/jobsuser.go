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

// userOfJobs chooses the user of the jobs if root has started the server without --run-as, and logs the choice: a
// separate user if jobs of that user can use their files in the data folder, otherwise root. It returns an error if
// the separate user could move or replace the data folder.
func userOfJobs(dir string, log *slog.Logger) (runAs string, err error) {
	account, err := separateUser(dir)
	if err == nil {
		if err := account.CheckProtected(dir); err != nil {
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
		"user", account.IDs(), "change", "--run-as USER runs them as another user, --run-as root as root")
	return account.IDs(), nil
}

// separateUser returns a user whose ids no other account has. It returns an error if jobs of that user could not use
// their files in the data folder.
func separateUser(dir string) (*isolation.Account, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	account, recorded := recordedUser(dir)
	if !recorded {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(dir)) // Write of a hash never fails
		if account, err = isolation.Unshared(hash.Sum32()); err != nil {
			return nil, err
		}
	}
	if err := account.CheckEntry(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	if err := errors.Join(letJobsPass(dir), account.Try(dir)); err != nil {
		return nil, err
	}
	if recorded {
		return account, nil
	}
	return account, recordUser(dir, account)
}

// userFile returns the file in the data folder that records the chosen user. Later servers must use the same user:
// executors that outlive a killed server keep running as that user, and the user owns the files that jobs keep
// elsewhere.
func userFile(dir string) string { return filepath.Join(dir, "jobs-user") }

// recordedUser returns the user that an earlier server chose. It returns false if there is none, or if another account
// has the same ids now.
func recordedUser(dir string) (account *isolation.Account, ok bool) {
	text, err := os.ReadFile(userFile(dir))
	if err != nil {
		return nil, false
	}
	account, ok = isolation.ParseIDs(strings.TrimSpace(string(text)))
	return account, ok && account.IsUnshared()
}

func recordUser(dir string, account *isolation.Account) error {
	if err := wholefile.Write(userFile(dir), []byte(account.IDs()+"\n"), 0o600); err != nil {
		return fmt.Errorf("record the user of jobs: %w", err)
	}
	return nil
}

// letJobsPass lets other users pass through the data folder, and through folders that this process creates later,
// whatever its umask was. It grants no permission to read.
func letJobsPass(dir string) error {
	const search = 0o011 // the search permission of the group and of other users
	syscall.Umask(syscall.Umask(0o077) &^ search)
	if err := os.Chmod(dir, 0o711); err != nil {
		return fmt.Errorf("let jobs pass through the data folder: %w; name another with --data-dir", err)
	}
	return nil
}
