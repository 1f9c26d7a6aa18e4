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

// Hidden starts executors that cannot see the data folder and the secret files. It is used if jobs run as this
// server's own user.
type Hidden struct {
	folder *os.File // the data folder, open so that a folder which replaces it has another identity
	places isolation.Places
	files  Files // the secret files
	// secrets are the folders for jobs' secrets in the data folder. Executors read them.
	secrets []string
	// text is the JSON of the hidden places and files, for the executors' environment.
	text string
}

// HideOptions are the files that Hide protects.
type HideOptions struct {
	// DataDir is the data folder, Files are the secret files. Both are hidden. Programs stay visible, but jobs cannot
	// replace them.
	DataDir  string
	Files    Files
	Programs []string
	// Executor is the executor's binary. Its command can-hide tests whether the kernel can hide files.
	Executor string
	Logger   *slog.Logger
}

// Hide tests whether the kernel can hide files from executors, and returns a Hidden that hides them. If the kernel
// cannot, it logs a warning and returns nil.
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
	if h.places.FolderID, err = isolation.IdentityOf(h.folder); err != nil {
		return nil, err
	}
	// Executors forbid their jobs to create nested user namespaces: in one, a job could not read the hidden files, but
	// it could replace them. If the kernel does not support this ban, the files are only hidden.
	h.places.NoNested = true
	failure, err := h.try(ctx, o.Executor)
	if err == nil && failure != nil {
		h.places.NoNested = false
		failureNested, err := h.try(ctx, o.Executor)
		switch {
		case err != nil:
			return nil, err
		case failureNested != nil:
			o.Logger.Warn("data folder not hidden from jobs: they run as the user of this server and can read its secrets. "+
				"Start the server as root with --run-as USER, or allow user namespaces (user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns); "+
				"--hide-data=false ends this warning", "error", failureNested)
			return nil, h.folder.Close()
		}
		o.Logger.Warn("programs and folders not kept in their place: jobs can make user namespaces, and in those "+
			"replace the programs, the files that flags name and the data folder for the next start. "+
			"Start the server as root with --run-as USER, or make /proc/sys writable", "error", failure)
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// try sets h.text, and tests whether an executor can hide the places from jobs. failure says why it cannot. err is an
// error of the test itself.
func (h *Hidden) try(ctx context.Context, program string) (failure, err error) {
	text, err := json.Marshal(h.files.HiddenWith(h.places))
	if err != nil {
		return nil, err
	}
	h.text = string(text)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "can-hide")
	cmd.Env = []string{executor.HideVariable + "=" + h.text}
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(output))), nil
	}
	return nil, nil
}

// Start calls start so that the executor cannot see the hidden places. The executor's id in env contains its app,
// whose secrets stay visible.
func (h *Hidden) Start(sandbox string, attr *syscall.SysProcAttr, env *[]string, start func() error) error {
	const idVariable = "MESOS_EXECUTOR_ID="
	i := slices.IndexFunc(*env, func(v string) bool { return strings.HasPrefix(v, idVariable) })
	if i < 0 {
		return errors.New("the executor has no id in its environment")
	}
	id, err := jobs.ParseExecutorID(strings.TrimPrefix((*env)[i], idVariable))
	if err != nil {
		return err
	}
	places, err := executor.HiddenFrom(sandbox, id.App, h.files.HiddenWith(h.places), h.secrets)
	if err != nil {
		return err
	}
	return places.Start(attr, env, start)
}

// Close closes the data folder. h may be nil.
func (h *Hidden) Close() error {
	if h == nil {
		return nil
	}
	return h.folder.Close()
}

// Environment returns the variables that tell executors which files to hide from their jobs, and where jobs' secrets
// are.
func (h *Hidden) Environment() map[string]string {
	return map[string]string{executor.HideVariable: h.text, launch.SecretsVariable: strings.Join(h.secrets, ":")}
}
