package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// isolationFlags are about what jobs can reach.
func (c *config) isolationFlags(f *pflag.FlagSet) {
	f.StringVar(&c.runAs, "run-as", "", "run the processes of jobs as this user of the agents' machines, "+
		"by name or uid, or as UID:GID, which they need not know; it takes executors that are root's, "+
		"and is needed where they are, but with --local: "+
		"there root's server takes ids that no one else has, or else root, and its log says which")
	f.BoolVar(&c.hideData, "hide-data", true,
		"with --local, where jobs run as the user of this server: hide the data folder and the secret files that flags name from them. "+
			"Programs that become another user, such as sudo, or make user namespaces don't work in jobs then")
}

// secretFiles are the files that flags name and that are no job's.
func (c *config) secretFiles() []string {
	var named []string
	for _, file := range []string{c.tokenFile, c.zkDigestFile, c.dbFile, c.registry.file, c.mesosFiles.credentials,
		c.mesosFiles.key, c.configFile, c.tlsFiles.Key, c.openID.secretFile} {
		if path, err := filepath.Abs(file); file != "" && err == nil {
			named = append(named, path)
		}
	}
	return named
}

// rootExecutors reports whether executors will be root's.
func (c *config) rootExecutors(uid int) bool {
	if c.local || c.mesosUser == "" {
		return uid == 0
	}
	return c.mesosUser == "root" || c.mesosUser == "0"
}

// checkIsolation refuses jobs that would run as root unasked, and users that can't be had.
func (s *settings) checkIsolation(bad *complaints) {
	c := s.config
	switch asked := c.runAs != ""; {
	case !c.local && c.mesos == "", c.kubernetes.on: // which is refused already, or pods have their own users
	case asked:
		if err := new(executor.Config).Limit("run-as=" + c.runAs); err != nil {
			bad.add("%s %q: %w", s.said("run-as"), c.runAs, err)
		} else if c.local {
			s.checkRunAs(bad)
		} else if user := c.user(); !c.rootExecutors(s.uid) && user != c.runAs {
			bad.add("%s %s: executors run as %s, and only root can run processes as another user: add --mesos-user root, or leave %s out", s.said("run-as"), c.runAs, user, s.said("run-as"))
		}
	case c.local: // a server of root's chooses the user when its data folder is there
	case c.rootExecutors(s.uid):
		bad.add("jobs would run as root: add --run-as USER, a user of the machines that they run on, or --run-as root if they need to be root")
	}
}

// checkRunAs checks the user on this machine.
func (s *settings) checkRunAs(bad *complaints) {
	c := s.config
	as, err := isolation.Needed(c.runAs, s.uid)
	if err != nil {
		bad.add("%w", err)
		return
	}
	if as == nil {
		if s.uid == 0 {
			s.note("jobs run as root: they can read and change everything on this machine, this server's secrets too")
		}
		return
	}
	// The data folder itself is opened at the start; what it lies in is not this server's.
	parent, err := filepath.Abs(c.dataDir)
	for err == nil && parent != "/" {
		parent = filepath.Dir(parent)
		if _, missing := os.Stat(parent); missing == nil {
			break
		}
	}
	if err == nil {
		err = errors.Join(as.Reaches(parent), as.LeavesAlone(parent))
	}
	bad.about(s.said("run-as"), err)
}

// hidden is what executors of this machine, whose jobs run as this server's user, are started without.
type hidden struct {
	folder *os.File // the data folder, open so that no other one can be taken for it
	places isolation.Places
	files  heldFiles // which are hidden, too
	// secrets are the folders for jobs' secrets in it, which executors read.
	secrets []string
	// text is places, as executors have them in their environment.
	text string
}

// hiding finds out what executors don't see, nil for nothing. Where the kernel can't hide it, the log says so.
func hiding(ctx context.Context, c config, program string, log *slog.Logger) (_ *hidden, err error) {
	if os.Geteuid() == 0 || !c.hideData {
		return nil, nil
	}
	path, err := filepath.Abs(c.dataDir)
	if err != nil {
		return nil, err
	}
	h := &hidden{
		places: isolation.Places{Folder: path, Fixed: c.programs()}, files: c.held,
		secrets: []string{secretsFolder(path)},
	}
	if h.folder, err = os.Open(path); err != nil {
		return nil, fmt.Errorf("hide the data folder from jobs: %w", err)
	}
	defer func() {
		if err != nil {
			_ = h.folder.Close()
		}
	}()
	if h.places.Is, err = isolation.IdentityOf(h.folder); err != nil {
		return nil, err
	}
	h.places.Last = true
	failed, err := h.try(ctx, program)
	if err == nil && failed != nil {
		h.places.Last = false
		without, err := h.try(ctx, program)
		switch {
		case err != nil:
			return nil, err
		case without != nil:
			log.Warn("data folder not hidden from jobs: they run as the user of this server and can read its secrets. "+
				"Start the server as root with --run-as USER, or allow user namespaces (user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns); "+
				"--hide-data=false ends this warning", "error", without)
			return nil, h.folder.Close()
		}
		log.Warn("programs and folders not kept in their place: jobs can make user namespaces, and in those "+
			"replace the programs, the files that flags name and the data folder for the next start. "+
			"Start the server as root with --run-as USER, or make /proc/sys writable", "error", failed)
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// try says why the places can't be hidden from jobs, and sets the text of them.
func (h *hidden) try(ctx context.Context, program string) (failed, err error) {
	text, err := json.Marshal(h.files.hiddenWith(h.places))
	if err != nil {
		return nil, err
	}
	h.text = string(text)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	try := exec.CommandContext(ctx, program, "can-hide")
	try.Env = []string{executor.HideVariable + "=" + h.text}
	if said, err := try.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(said))), nil
	}
	return nil, nil
}

// start starts an executor without what is hidden. Its id, in its environment, names its app.
func (h *hidden) start(sandbox string, attr *syscall.SysProcAttr, env *[]string, start func() error) error {
	const idVariable = "MESOS_EXECUTOR_ID="
	at := slices.IndexFunc(*env, func(v string) bool { return strings.HasPrefix(v, idVariable) })
	if at < 0 {
		return errors.New("the executor has no id in its environment")
	}
	id, err := jobs.ParseExecutorID(strings.TrimPrefix((*env)[at], idVariable))
	if err != nil {
		return err
	}
	places, err := executor.HiddenFrom(sandbox, id.App, h.files.hiddenWith(h.places), h.secrets)
	if err != nil {
		return err
	}
	return places.Start(attr, env, start)
}

// close lets go of the data folder.
func (h *hidden) close() error {
	if h == nil {
		return nil
	}
	return h.folder.Close()
}
