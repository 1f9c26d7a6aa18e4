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
	"unicode"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// SecretsVariable is the variable in an executor's environment that lists the folders, separated by colons, in which
// jobs may name files by fromFile.
const SecretsVariable = "ELASTICJOB_SECRETS_DIR"

// DefaultSecrets is the folder for secrets if SecretsVariable is empty.
const DefaultSecrets = "/etc/elasticjob/secrets"

// AppsFolder is the name of a folder in a folder for secrets. It contains one folder per app, with the app's name.
const AppsFolder = "apps"

// maxSecret is the maximum size in bytes of a value from a file or variable. Values in a job's document have the same
// limit.
const maxSecret = 64 << 10

// References reads the values that a job's env and the headers of its HTTP request refer to.
//
// The executor reads the files, not the job's process, so the user that jobs run as need not be able to read them.
// Without a restriction a job could read everything that the executor may read, and every user who may publish can
// write a job. Therefore only files in folders that the agent's operator has reserved for secrets are read. A symbolic
// link can't lead out of its folder (os.Root), and a folder in "apps" is only for the app with that name. Variables
// that the executor has from its agent or from the scheduler are refused, because the executor's token is among them.
//
// In a pod, where the job can read every file itself, the only folder is /, unless SecretsVariable is set.
type References struct {
	folders []string
	lookup  func(name string) (string, bool) // os.LookupEnv
}

// NewReferences returns references to files below the folders, and to the variables that lookup knows.
func NewReferences(folders []string, lookup func(name string) (string, bool)) References {
	return References{folders: folders, lookup: lookup}
}

// SecretFolders parses the value of SecretsVariable. It ignores paths that are not absolute.
func SecretFolders(value string) []string {
	if value == "" {
		value = DefaultSecrets
	}
	return slices.DeleteFunc(filepath.SplitList(value), func(folder string) bool { return !filepath.IsAbs(folder) })
}

// Resolve returns the values of all references in a task's environment, by the names of the variables. The error lists
// everything that is wrong, and contains no values.
func (r References) Resolve(t wire.Task) (map[string]string, error) {
	return r.resolve("env.", t.AppName, t.EnvFiles, t.EnvVariables)
}

// Request returns a task's request, in which headers that are references have their values. The error contains no
// values.
func (r References) Request(t wire.Task) (wire.HTTP, error) {
	request := *t.HTTP
	request.Headers = make(map[string]wire.Header, len(t.HTTP.Headers))
	files, variables := map[string]string{}, map[string]string{}
	for name, header := range t.HTTP.Headers {
		switch {
		case header.File != "":
			files[name] = header.File
		case header.Variable != "":
			variables[name] = header.Variable
		}
		request.Headers[name] = header
	}
	values, err := r.resolve("props.http.header.", t.AppName, files, variables)
	for name, value := range values {
		if err == nil && strings.ContainsFunc(value, unicode.IsControl) {
			err = fmt.Errorf("props.http.header.%s: its value contains line breaks or other control characters", name)
		}
		request.Headers[name] = wire.Header{Value: value, Secret: true}
	}
	return request, err
}

func (r References) resolve(field, app string, files, variables map[string]string) (map[string]string, error) {
	values := make(map[string]string, len(files)+len(variables))
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := files[name]
		value, err := r.file(path, app)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s%s: file %s: %w", field, name, path, err))
		}
		values[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		variable := variables[name]
		value, isSet := r.lookup(variable)
		switch {
		case IsOwnVariable(variable):
			problems = append(problems, fmt.Errorf("%s%s: %s is the executor's own variable, which jobs must not use",
				field, name, variable))
		case !isSet:
			problems = append(problems, fmt.Errorf("%s%s: the executor's environment on this agent has no %s", field,
				name, variable))
		case len(value) > maxSecret:
			problems = append(problems, fmt.Errorf("%s%s: %s is longer than 64 KiB", field, name, variable))
		}
		values[name] = value
	}
	return values, errors.Join(problems...)
}

// IsOwnVariable reports whether a variable is reserved for the executor. jobs.Config.Check has the same rule. The
// executor checks it too, because a task may come from another scheduler.
func IsOwnVariable(name string) bool {
	return slices.ContainsFunc([]string{"MESOS_", "LIBPROCESS_", "ELASTICJOB_"},
		func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// file reads a file for a job of the app, without one trailing newline.
func (r References) file(path, app string) (string, error) {
	for _, folder := range r.folders {
		inside, err := filepath.Rel(folder, path)
		if err != nil || !filepath.IsLocal(inside) {
			continue
		}
		first, rest, _ := strings.Cut(inside, "/")
		if folder != "/" && first == AppsFolder && !strings.HasPrefix(rest, app+"/") {
			return "", fmt.Errorf("it is for the app that its folder below %s is named after, and not for %s",
				filepath.Join(folder, AppsFolder), app)
		}
		return readSecret(folder, inside)
	}
	return "", fmt.Errorf("it is not in a folder for secrets: on this agent that is %s, which its operator sets with %s",
		strings.Join(r.folders, ", "), SecretsVariable)
}

func readSecret(folder, inside string) (string, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", fmt.Errorf("the folder for secrets, %s, can't be opened on this agent: %w", folder, reason(err))
	}
	defer func() { _ = root.Close() }()
	file, err := root.OpenFile(inside, os.O_RDONLY|syscall.O_NONBLOCK, 0) // does not block on a named pipe
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("there is no such file on this agent")
	case err != nil:
		return "", fmt.Errorf("it can't be read on this agent: %w", reason(err))
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	content, err := io.ReadAll(io.LimitReader(file, maxSecret+2))
	text := strings.TrimPrefix(strings.TrimSuffix(string(content), "\n"), "\ufeff") // editors add a byte order mark
	switch {
	case err != nil:
		return "", fmt.Errorf("it can't be read on this agent: %w", reason(err))
	case len(text) > maxSecret:
		return "", errors.New("it is longer than 64 KiB, the limit of a variable")
	case strings.ContainsRune(text, 0):
		return "", errors.New("it contains a zero byte, which a variable must not have")
	}
	return text, nil
}

// reason returns why a call failed, without the path.
func reason(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
