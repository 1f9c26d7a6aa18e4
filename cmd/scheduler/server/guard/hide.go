package guard

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

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/datafolder"
	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// Hidden is what executors of this machine, whose jobs run as this server's user, are started without.
type Hidden struct {
	folder *os.File // the data folder, open so that no other one can be taken for it
	places isolation.Places
	files  Files // which are hidden, too
	// secrets are the folders for jobs' secrets in it, which executors read.
	secrets []string
	// text is places, as executors have them in their environment.
	text string
}

// HideOptions say what is hidden.
type HideOptions struct {
	// DataDir is the data folder, Files are those that flags name, and Programs stay as they are.
	DataDir  string
	Files    Files
	Programs []string
	// Executor is the program that can say whether it can hide something.
	Executor string
	Logger   *slog.Logger
}

// Hide finds out what executors don't see. Where the kernel can't hide it there is none, and the log says so.
func Hide(ctx context.Context, o HideOptions) (_ *Hidden, err error) {
	path, err := filepath.Abs(o.DataDir)
	if err != nil {
		return nil, err
	}
	h := &Hidden{
		places: isolation.Places{Folder: path, Fixed: o.Programs}, files: o.Files,
		secrets: []string{datafolder.Secrets(path)},
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
	failed, err := h.try(ctx, o.Executor)
	if err == nil && failed != nil {
		h.places.Last = false
		without, err := h.try(ctx, o.Executor)
		switch {
		case err != nil:
			return nil, err
		case without != nil:
			o.Logger.Warn("data folder not hidden from jobs: they run as the user of this server and can read its secrets. "+
				"Start the server as root with --run-as USER, or allow user namespaces (user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns); "+
				"--hide-data=false ends this warning", "error", without)
			return nil, h.folder.Close()
		}
		o.Logger.Warn("programs and folders not kept in their place: jobs can make user namespaces, and in those "+
			"replace the programs, the files that flags name and the data folder for the next start. "+
			"Start the server as root with --run-as USER, or make /proc/sys writable", "error", failed)
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// try says why the places can't be hidden from jobs, and sets the text of them.
func (h *Hidden) try(ctx context.Context, program string) (failed, err error) {
	text, err := json.Marshal(h.files.HiddenWith(h.places))
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

// Start starts an executor without what is hidden. Its id, in its environment, names its app.
func (h *Hidden) Start(sandbox string, attr *syscall.SysProcAttr, env *[]string, start func() error) error {
	const idVariable = "MESOS_EXECUTOR_ID="
	at := slices.IndexFunc(*env, func(v string) bool { return strings.HasPrefix(v, idVariable) })
	if at < 0 {
		return errors.New("the executor has no id in its environment")
	}
	id, err := jobs.ParseExecutorID(strings.TrimPrefix((*env)[at], idVariable))
	if err != nil {
		return err
	}
	places, err := executor.HiddenFrom(sandbox, id.App, h.files.HiddenWith(h.places), h.secrets)
	if err != nil {
		return err
	}
	return places.Start(attr, env, start)
}

// Close lets go of the data folder. It may be nil.
func (h *Hidden) Close() error {
	if h == nil {
		return nil
	}
	return h.folder.Close()
}

// Environment is what executors have to know of it.
func (h *Hidden) Environment() map[string]string {
	return map[string]string{executor.HideVariable: h.text, launch.SecretsVariable: strings.Join(h.secrets, ":")}
}
