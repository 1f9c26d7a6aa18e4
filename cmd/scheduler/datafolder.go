package main

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
)

// rootsDataDir is the default data folder of root: jobs that run as another user could not reach one in root's home
// folder, which is closed to others nearly everywhere.
const rootsDataDir = "/var/lib/elasticjob"

// defaultDataDir is the data folder of servers and commands that name none.
func defaultDataDir() string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "elasticjob")
	}
	own := ""
	if home, err := os.UserHomeDir(); err == nil {
		own = filepath.Join(home, ".local", "share", "elasticjob")
	}
	if uid := os.Geteuid(); uid == 0 {
		return dataDirOfRoot(own, rootsDataDir, uid)
	}
	return own
}

// dataDirOfRoot chooses between the folder in root's home and the one that all can reach. The one at home stays in
// use where an earlier release has made it, and where the other one belongs to another user: to a service, such as
// that of deploy/systemd, which could not use it any more once root had written to it.
func dataDirOfRoot(own, shared string, uid int) string {
	if own == "" {
		return shared
	}
	if _, err := os.Stat(own); err == nil {
		return own
	}
	if info, err := os.Stat(shared); err == nil {
		if of, known := info.Sys().(*syscall.Stat_t); known && int(of.Uid) != uid {
			return own
		}
	}
	return shared
}

// makeDataFolder makes the data folder, for its owner only. Missing folders above it are made too; root's let others
// pass, because root's jobs run as another user.
func makeDataFolder(dir string) error {
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

// openDataFolder makes the data folder and returns who jobs run as, as --run-as has it. What is secret in the folder
// can be read by its owner only; others may pass through it, if jobs run as another user.
func openDataFolder(c config, log *slog.Logger) (runAs string, err error) {
	if err := makeDataFolder(c.dataDir); err != nil {
		return "", err
	}
	if !c.local {
		return c.runAs, nil
	}
	jobsAreRoot := c.runAs == "root" || c.runAs == "0"
	if err := closeSecrets(secretsFolder(c.dataDir), os.Geteuid() == 0 && !jobsAreRoot, log); err != nil {
		return "", err
	}
	if c.runAs == "" && os.Geteuid() == 0 {
		return userOfJobs(c.dataDir, log)
	}
	as, err := isolation.Needed(c.runAs, os.Geteuid())
	if err != nil || as == nil {
		return c.runAs, nil // the executors say what is wrong
	}
	if err := errors.Join(as.LeavesAlone(c.dataDir), letJobsPass(c.dataDir)); err != nil {
		return "", fmt.Errorf("open the data folder: %w", err)
	}
	return c.runAs, nil
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

// linklessDataFolder is the data folder without links on the way to it, so that none of them counts any more while
// this server runs. It warns of those that jobs of this server's user could replace: folders are kept in their place
// where jobs see them, and links can't be.
func linklessDataFolder(c config, log *slog.Logger) (string, error) {
	path, err := filepath.Abs(c.dataDir)
	if err != nil {
		return "", fmt.Errorf("find the data folder: %w", err)
	}
	linkless, err := filepath.EvalSymlinks(path)
	if err != nil || linkless == path {
		return c.dataDir, err
	}
	if c.local && os.Geteuid() != 0 {
		err = eachLink(path, func(link string) {
			log.Warn("data folder reached by a link that jobs can replace: "+
				"the next start would then take another folder for it", "link", link, "change", "--data-dir "+linkless)
		})
	}
	return linkless, err
}

// eachLink finds the links on the way to a path that jobs of this server's user can replace.
func eachLink(path string, found func(link string)) error {
	steps, err := (*isolation.Account)(nil).Steps(path)
	for _, step := range steps {
		if step.Link && step.Movable {
			found(step.Path)
		}
	}
	return err
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
	if err := writeWhole(userFile(dir), []byte(as.IDs()+"\n"), 0o600); err != nil {
		return fmt.Errorf("keep the user of jobs: %w", err)
	}
	return nil
}
