package launch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// SecretsVariable names, in an executor's environment, the folders that jobs may name files in by fromFile, with
// colons between them.
const SecretsVariable = "ELASTICJOB_SECRETS_DIR"

// DefaultSecrets is the folder where nobody names any.
const DefaultSecrets = "/etc/elasticjob/secrets"

// OfApps is the folder, in one of secrets, whose folders are each for one app, by its name.
const OfApps = "apps"

// maxSecret bounds a file, in bytes, as a job's document bounds a value.
const maxSecret = 64 << 10

// References reads what a job's env names instead of holding it.
//
// The executor reads, and not the job's process: so the files need not be readable for the user that jobs run as.
// Hence a job could read through it whatever the executor may read, and anybody who may publish can write a job;
// therefore files are read only in folders that the agent's operator has set aside. A symbolic link leads nowhere
// outside of its folder (os.Root), and a folder of apps is for the app of its name alone. Of the executor's variables
// those are refused that it has from its agent or from the scheduler: its token is among them.
//
// In a pod, where the job can read every file itself, the folder is the root.
type References struct {
	folders []string
	lookup  func(name string) (string, bool) // os.LookupEnv
}

// NewReferences returns references to files below the folders, and to the variables that lookup knows.
func NewReferences(folders []string, lookup func(name string) (string, bool)) References {
	return References{folders: folders, lookup: lookup}
}

// SecretFolders reads the value of SecretsVariable.
func SecretFolders(value string) []string {
	if value == "" {
		value = DefaultSecrets
	}
	return slices.DeleteFunc(filepath.SplitList(value), func(folder string) bool { return !filepath.IsAbs(folder) })
}

// Resolve gives the values of all references of a task, by the names of the variables that they are for. The error has
// all that is wrong, and no content.
func (r References) Resolve(t wire.Task) (map[string]string, error) {
	values := make(map[string]string, len(t.EnvFiles)+len(t.EnvVariables))
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(t.EnvFiles)) {
		path := t.EnvFiles[name]
		value, err := r.file(path, t.AppName)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("env.%s: file %s: %w", name, path, err))
		}
		values[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(t.EnvVariables)) {
		variable := t.EnvVariables[name]
		value, there := r.lookup(variable)
		switch {
		case IsOwnVariable(variable):
			wrong = append(wrong, fmt.Errorf("env.%s: %s is a variable of the executor's own, which no job is given",
				name, variable))
		case !there:
			wrong = append(wrong, fmt.Errorf("env.%s: the executor's environment on this agent has no %s", name,
				variable))
		case len(value) > maxSecret:
			wrong = append(wrong, fmt.Errorf("env.%s: %s is longer than 64 KiB", name, variable))
		}
		values[name] = value
	}
	return values, errors.Join(wrong...)
}

// IsOwnVariable is the rule of jobs.Config.Check, for tasks of other schedulers.
func IsOwnVariable(name string) bool {
	return slices.ContainsFunc([]string{"MESOS_", "LIBPROCESS_", "ELASTICJOB_"},
		func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// file reads a file for a job of the app, without one newline at its end.
func (r References) file(path, app string) (string, error) {
	for _, folder := range r.folders {
		inside, err := filepath.Rel(folder, path)
		if err != nil || !filepath.IsLocal(inside) {
			continue
		}
		if first, rest, _ := strings.Cut(inside, "/"); folder != "/" && first == OfApps &&
			!strings.HasPrefix(rest, app+"/") {
			return "", fmt.Errorf("it is for the app that its folder below %s is named after, and not for %s",
				filepath.Join(folder, OfApps), app)
		}
		return readSecret(folder, inside)
	}
	return "", fmt.Errorf("it is in no folder for secrets: that is %s on this agent, which its operator sets by %s",
		strings.Join(r.folders, ", "), SecretsVariable)
}

func readSecret(folder, inside string) (string, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", fmt.Errorf("the folder for secrets, %s, can't be opened on this agent: %w", folder, reason(err))
	}
	defer func() { _ = root.Close() }()
	file, err := root.OpenFile(inside, os.O_RDONLY|syscall.O_NONBLOCK, 0) // nobody waits for the other end of a pipe
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("there is no such file on this agent")
	case err != nil:
		return "", fmt.Errorf("it can't be read on this agent: %w", reason(err))
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.New("it is no regular file")
	}
	content, err := io.ReadAll(io.LimitReader(file, maxSecret+2))
	text := strings.TrimSuffix(string(content), "\n")
	switch {
	case err != nil:
		return "", fmt.Errorf("it can't be read on this agent: %w", reason(err))
	case len(text) > maxSecret:
		return "", errors.New("it is longer than 64 KiB, the most that a variable may have")
	case strings.ContainsRune(text, 0):
		return "", errors.New("it holds a zero byte: no variable can have one")
	}
	return text, nil
}

// reason is why a call failed, without the path that it was about.
func reason(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
